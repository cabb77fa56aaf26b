// See kv_cache.h.
#include "engine/kv_cache.h"

#include "cost/state_shape.h"

namespace dure {

KvCache::KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                 const PageLayout& pages, const CacheShape& shape)
    : shape_(shape),
      page_bytes_(pages.elements * shape.page_tokens * bytes_of(shape.dtype)),
      pages_(shape.pages * page_bytes_) {
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const LayerPlace& place = pages.layers[static_cast<size_t>(i - share.layers.begin)];
    std::byte* const at = pages_.data() + place.offset * shape.page_tokens * bytes_of(shape.dtype);
    views_.push_back(
        std::visit([&](const auto& kind) { return make(kind, layout, share.place.tp, at); },
                   spec.layers[static_cast<size_t>(i)].attention));
    views_.back().table = static_cast<size_t>(place.table);
  }
}

LayerCache KvCache::make(const GqaSpec& gqa, const Layout& layout, int tp, std::byte* at) {
  LayerCache cache;
  KvLayer& view = cache.kv;
  view.dtype = shape_.dtype;
  view.page_tokens = shape_.page_tokens;
  view.page_bytes = page_bytes_;
  view.kv_heads = heads_of(gqa, layout.tp, tp).kv.size();
  view.head_dim = gqa.head_dim;
  view.v_head_dim = gqa.v_head_dim;
  view.k = at;
  view.v = at + kv_page_elements(shape_.page_tokens, view.kv_heads, view.head_dim) *
                    bytes_of(shape_.dtype);
  return cache;
}

LayerCache KvCache::make(const MlaSpec& mla, const Layout& layout, int tp, std::byte* at) {
  LayerCache cache;
  if (heads_of(mla, layout.tp, tp).q.size() == 0) return cache;
  cache.latent = {at, shape_.dtype, shape_.page_tokens, mla.kv_rank, mla.rope_dim, page_bytes_};
  if (const IndexerSpec* own = mla.own_indexer()) {
    at += shape_.page_tokens * (mla.kv_rank + mla.rope_dim) * bytes_of(shape_.dtype);
    cache.index = {at, shape_.dtype, shape_.page_tokens, own->head_dim, 0, page_bytes_};
  }
  return cache;
}

LayerCache KvCache::make(const DeltaNetSpec& delta, const Layout& layout, int tp, std::byte*) {
  return make_states(delta, layout, tp);
}

LayerCache KvCache::make(const Mamba2Spec& mamba, const Layout& layout, int tp, std::byte*) {
  return make_states(mamba, layout, tp);
}

LayerCache KvCache::make_states(const AttentionSpec& kind, const Layout& layout, int tp) {
  const StateFloats floats = state_of(kind, layout.tp, tp);
  LayerCache cache;
  if (floats.total() == 0) return cache;
  states_.emplace_back(shape_.states * floats.total() * static_cast<int64_t>(sizeof(float)));
  auto* data = reinterpret_cast<float*>(states_.back().data());
  cache.recurrence = {data, floats.total()};
  cache.convolution = {data + floats.recurrence, floats.total()};
  return cache;
}

int64_t KvCache::bytes() const {
  int64_t sum = pages_.size();
  for (const AlignedBuffer& buffer : states_) sum += buffer.size();
  return sum;
}

}  // namespace dure
