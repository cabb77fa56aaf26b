// Walks from the root of the trie, by the configurations they started from: most steps of most
// requests ask for one that was made before. Bounded in bytes; shared by all requests of a grammar.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "grammar/local_walk.h"

namespace dure::grammar {

// A finished walk in the smaller of two forms.
struct CachedWalk {
  explicit CachedWalk(const LocalWalk& walk);
  void allow(std::span<uint64_t> mask) const;
  size_t bytes() const;

  std::vector<uint64_t> bits;    // either these,
  std::vector<uint32_t> tokens;  // or these
  std::vector<uint32_t> escapes;
  uint32_t need;
};

class MaskCache {
 public:
  std::shared_ptr<const CachedWalk> find(const LocalKey& key);
  void keep(const LocalKey& key, std::shared_ptr<const CachedWalk> walk);

 private:
  using Walks = std::map<LocalKey, std::shared_ptr<const CachedWalk>>;

  void put(const LocalKey& key, std::shared_ptr<const CachedWalk> walk);

  std::mutex mutex_;
  // What was not asked for while one generation filled up is dropped with it.
  Walks young_, old_;
  size_t young_bytes_ = 0;
};

}  // namespace dure::grammar
