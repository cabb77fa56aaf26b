// The paged cache of a rank: for every layer of its stage, the K and V pages of the kv heads it
// holds, the pages of latent rows, or the slots of recurrent states. Which sequence owns which page
// and slot is the scheduler's business.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/shard.h"
#include "kernels/packed_matrix.h"
#include "layers/attention.h"

namespace dure {

class KvCache {
 public:
  KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share, DType dtype,
          int64_t pages, int64_t page_tokens, int64_t states);

  const LayerCache& layer(int64_t index) const { return views_[static_cast<size_t>(index)]; }
  int64_t pages() const { return pages_; }
  int64_t page_tokens() const { return page_tokens_; }
  int64_t bytes() const;

 private:
  int64_t pages_;
  int64_t page_tokens_;
  int64_t states_;
  LayerCache make(const GqaSpec& gqa, const Layout& layout, int tp, DType dtype);
  LayerCache make(const MlaSpec& mla, const Layout& layout, int tp, DType dtype);
  LayerCache make(const DeltaNetSpec& delta, const Layout& layout, int tp, DType dtype);
  LayerCache make(const Mamba2Spec& mamba, const Layout& layout, int tp, DType dtype);
  // Layers that keep nothing; and a kind that is not run yet, of which bind_inventory lets no model
  // through.
  template <typename Kind>
  LayerCache make(const Kind&, const Layout&, int, DType) {
    return {};
  }
  LayerCache make_states(const AttentionSpec& kind, const Layout& layout, int tp);
  std::byte* take(int64_t page_elements, DType dtype);  // of all pages

  std::vector<AlignedBuffer> buffers_;
  std::vector<LayerCache> views_;
};

}  // namespace dure
