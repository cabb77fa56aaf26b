// See kv_cache.h.
#include "engine/kv_cache.h"

namespace dure {

KvCache::KvCache(const ModelSpec& spec, const Layout& layout, const RankShare& share, DType dtype,
                 int64_t pages, int64_t page_tokens)
    : pages_(pages), page_tokens_(page_tokens) {
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const auto& gqa = std::get<GqaSpec>(spec.layers[static_cast<size_t>(i)].attention);
    KvLayer view;
    view.dtype = dtype;
    view.page_tokens = page_tokens;
    view.kv_heads = heads_of(gqa, layout.tp, share.place.tp).kv.size();
    view.head_dim = gqa.head_dim;
    view.v_head_dim = gqa.head_dim;
    const auto pages_of = [&](int64_t head_dim) {
      buffers_.emplace_back(pages * kv_page_elements(page_tokens, view.kv_heads, head_dim) *
                            bytes_of(dtype));
      return buffers_.back().data();
    };
    view.k = pages_of(view.head_dim);
    view.v = pages_of(view.v_head_dim);
    views_.push_back(view);
  }
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const AlignedBuffer& buffer : buffers_) sum += buffer.size();
  return sum;
}

}  // namespace dure
