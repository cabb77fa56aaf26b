// See kv_cache.h.
#include "engine/kv_cache.h"

#include "cost/state_shape.h"

namespace dure {

KvCache::KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share, DType dtype,
                 int64_t pages, int64_t page_tokens, int64_t states)
    : pages_(pages), page_tokens_(page_tokens), states_(states) {
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    views_.push_back(
        std::visit([&](const auto& kind) { return make(kind, layout, share.place.tp, dtype); },
                   spec.layers[static_cast<size_t>(i)].attention));
  }
}

std::byte* KvCache::take(int64_t page_elements, DType dtype) {
  buffers_.emplace_back(pages_ * page_elements * bytes_of(dtype));
  return buffers_.back().data();
}

LayerCache KvCache::make(const GqaSpec& gqa, const Layout& layout, int tp, DType dtype) {
  LayerCache cache;
  KvLayer& view = cache.kv;
  view.dtype = dtype;
  view.page_tokens = page_tokens_;
  view.kv_heads = heads_of(gqa, layout.tp, tp).kv.size();
  view.head_dim = gqa.head_dim;
  view.v_head_dim = gqa.v_head_dim;
  view.k = take(kv_page_elements(page_tokens_, view.kv_heads, view.head_dim), dtype);
  view.v = take(kv_page_elements(page_tokens_, view.kv_heads, view.v_head_dim), dtype);
  return cache;
}

LayerCache KvCache::make(const MlaSpec& mla, const Layout& layout, int tp, DType dtype) {
  LayerCache cache;
  if (heads_of(mla, layout.tp, tp).q.size() == 0) return cache;
  LatentLayer& view = cache.latent;
  view.dtype = dtype;
  view.page_tokens = page_tokens_;
  view.latent = mla.kv_rank;
  view.rope = mla.rope_dim;
  view.rows = take(page_tokens_ * (mla.kv_rank + mla.rope_dim), dtype);
  if (const IndexerSpec* own = mla.own_indexer()) {
    cache.index = {nullptr, dtype, page_tokens_, own->head_dim, 0};
    cache.index.rows = take(page_tokens_ * own->head_dim, dtype);
  }
  return cache;
}

LayerCache KvCache::make(const DeltaNetSpec& delta, const Layout& layout, int tp, DType) {
  return make_states(delta, layout, tp);
}

LayerCache KvCache::make(const Mamba2Spec& mamba, const Layout& layout, int tp, DType) {
  return make_states(mamba, layout, tp);
}

LayerCache KvCache::make_states(const AttentionSpec& kind, const Layout& layout, int tp) {
  const StateFloats floats = state_of(kind, layout.tp, tp);
  LayerCache cache;
  if (floats.total() == 0) return cache;
  buffers_.emplace_back(states_ * floats.total() * static_cast<int64_t>(sizeof(float)));
  auto* data = reinterpret_cast<float*>(buffers_.back().data());
  cache.recurrence = {data, floats.total()};
  cache.convolution = {data + floats.recurrence, floats.total()};
  return cache;
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const AlignedBuffer& buffer : buffers_) sum += buffer.size();
  return sum;
}

}  // namespace dure
