// The names of a sequence's whole pages in the prefix cache: each page's hash covers its tokens and
// all before it. Hashes only find candidates; the cache compares the tokens themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dure {

struct PageKeys {
  std::string root;              // sequences of different roots share nothing
  std::vector<uint64_t> hashes;  // of whole pages, in order

  // Hashes the whole pages of `tokens` that it has not hashed yet; earlier tokens are as they were.
  void extend(std::span<const int32_t> tokens, int32_t page_tokens);
};

}  // namespace dure
