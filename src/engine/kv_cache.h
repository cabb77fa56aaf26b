// The paged cache of a rank: pages that hold the keys and values, or latent rows, of the layers of
// a table (cost/page_layout.h) one after another, and slots of recurrent states. Which sequence
// owns which page and slot is the scheduler's business.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/page_layout.h"
#include "cost/shard.h"
#include "kernels/packed_matrix.h"
#include "layers/attention.h"

namespace dure {

struct CacheShape {
  DType dtype = DType::bf16;
  int64_t pages = 0;
  int64_t page_tokens = 16;
  int64_t states = 0;
};

class KvCache {
 public:
  KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share,
          const PageLayout& pages, const CacheShape& shape);

  const LayerCache& layer(int64_t index) const { return views_[static_cast<size_t>(index)]; }
  int64_t bytes() const;

 private:
  LayerCache make(const GqaSpec& gqa, const Layout& layout, int tp, std::byte* at);
  LayerCache make(const MlaSpec& mla, const Layout& layout, int tp, std::byte* at);
  LayerCache make(const DeltaNetSpec& delta, const Layout& layout, int tp, std::byte* at);
  LayerCache make(const Mamba2Spec& mamba, const Layout& layout, int tp, std::byte* at);
  // Layers that keep nothing; and a kind that is not run yet, of which bind_inventory lets no model
  // through.
  template <typename Kind>
  LayerCache make(const Kind&, const Layout&, int, std::byte*) {
    return {};
  }
  LayerCache make_states(const AttentionSpec& kind, const Layout& layout, int tp);

  CacheShape shape_;
  int64_t page_bytes_;
  AlignedBuffer pages_;
  std::vector<AlignedBuffer> states_;
  std::vector<LayerCache> views_;
};

}  // namespace dure
