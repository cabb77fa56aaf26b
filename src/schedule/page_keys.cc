// See page_keys.h.
#include "schedule/page_keys.h"

#include <xxhash.h>

namespace dure {

void PageKeys::extend(std::span<const int32_t> tokens, int32_t page_tokens) {
  const auto whole = tokens.size() / static_cast<size_t>(page_tokens);
  while (hashes.size() < whole) {
    const uint64_t before = hashes.empty() ? XXH3_64bits(root.data(), root.size()) : hashes.back();
    const auto page = tokens.subspan(hashes.size() * static_cast<size_t>(page_tokens),
                                     static_cast<size_t>(page_tokens));
    hashes.push_back(XXH3_64bits_withSeed(page.data(), page.size_bytes(), before));
  }
}

}  // namespace dure
