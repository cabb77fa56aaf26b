// See mask_cache.h.
#include "grammar/mask_cache.h"

#include <bit>
#include <utility>

#include "grammar/limits.h"

namespace dure::grammar {

CachedWalk::CachedWalk(const LocalWalk& walk) : escapes(walk.escapes), need(walk.need) {
  size_t count = 0;
  for (const uint64_t word : walk.bits) count += static_cast<size_t>(std::popcount(word));
  if (count > walk.bits.size() * 2) {
    bits = walk.bits;
    return;
  }
  tokens.reserve(count);
  for (size_t i = 0; i < walk.bits.size(); ++i) {
    for (uint64_t word = walk.bits[i]; word != 0; word &= word - 1) {
      tokens.push_back(static_cast<uint32_t>(i * 64) +
                       static_cast<uint32_t>(std::countr_zero(word)));
    }
  }
}

void CachedWalk::allow(std::span<uint64_t> mask) const {
  for (size_t i = 0; i < bits.size(); ++i) mask[i] |= bits[i];
  for (const uint32_t token : tokens) mask[token / 64] |= uint64_t{1} << token % 64;
}

size_t CachedWalk::bytes() const {
  return sizeof(*this) + bits.size() * sizeof(uint64_t) +
         (tokens.size() + escapes.size()) * sizeof(uint32_t);
}

std::shared_ptr<const CachedWalk> MaskCache::find(const LocalKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto at = young_.find(key); at != young_.end()) return at->second;
  const auto at = old_.find(key);
  if (at == old_.end()) return nullptr;
  std::shared_ptr<const CachedWalk> walk = std::move(at->second);
  old_.erase(at);
  put(key, walk);
  return walk;
}

void MaskCache::keep(const LocalKey& key, std::shared_ptr<const CachedWalk> walk) {
  const std::lock_guard lock(mutex_);
  put(key, std::move(walk));
}

void MaskCache::put(const LocalKey& key, std::shared_ptr<const CachedWalk> walk) {
  const size_t bytes = walk->bytes() + key.size() * sizeof(uint32_t) + 128;
  if (young_bytes_ + bytes > mask_cache_bytes / 2) {
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
  }
  if (young_.emplace(key, std::move(walk)).second) young_bytes_ += bytes;
}

}  // namespace dure::grammar
