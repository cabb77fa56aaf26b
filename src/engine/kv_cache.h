// The paged KV cache of a rank: for every layer of its stage, the K and V pages of the kv heads it
// holds. Which sequence owns which page is the scheduler's business.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/shard.h"
#include "kernels/backend.h"
#include "kernels/packed_matrix.h"

namespace dure {

class KvCache {
 public:
  KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share, DType dtype,
          int64_t pages, int64_t page_tokens);

  const KvLayer& layer(int64_t index) const { return views_[static_cast<size_t>(index)]; }
  int64_t pages() const { return pages_; }
  int64_t page_tokens() const { return page_tokens_; }
  int64_t bytes() const;

 private:
  int64_t pages_;
  int64_t page_tokens_;
  std::vector<AlignedBuffer> buffers_;  // K, V of each layer
  std::vector<KvLayer> views_;
};

}  // namespace dure
