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
    const int64_t bytes =
        pages * kv_page_elements(page_tokens, view.kv_heads, view.head_dim) * bytes_of(dtype);
    buffers_.emplace_back(bytes);
    view.k = buffers_.back().data();
    buffers_.emplace_back(bytes);
    view.v = buffers_.back().data();
    views_.push_back(view);
  }
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const AlignedBuffer& buffer : buffers_) sum += buffer.size();
  return sum;
}

}  // namespace dure
