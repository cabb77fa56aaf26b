// See kv_page.h.
#include "kernels/cpu/kv_page.h"

namespace dure {

template <class Convert>
void KvPage::write_converted(int64_t page, int64_t token, const float* k, const float* v,
                             const Convert& convert) const {
  using Stored = decltype(convert(0.0f));
  const int64_t head_dim = cache_.head_dim;
  const int64_t page_tokens = cache_.page_tokens;
  for (int64_t head = 0; head < cache_.kv_heads; ++head, k += head_dim, v += head_dim) {
    auto* to_k = static_cast<std::byte*>(cache_.k) + offset(page, k_index(head, token, 0));
    auto* to_v = static_cast<std::byte*>(cache_.v) + offset(page, v_index(head, token, 0));
    for (int64_t d = 0; d < head_dim; ++d) {
      const Stored key = convert(k[d]);
      const Stored value = convert(v[d]);
      std::memcpy(to_k + d * page_tokens * static_cast<int64_t>(sizeof(Stored)), &key, sizeof key);
      std::memcpy(to_v + d * static_cast<int64_t>(sizeof(Stored)), &value, sizeof value);
    }
  }
}

void KvPage::write_token(std::span<const int32_t> pages, int64_t position, const float* k,
                         const float* v) const {
  const int64_t page = pages[static_cast<size_t>(position / cache_.page_tokens)];
  const int64_t token = position % cache_.page_tokens;
  switch (cache_.dtype) {
    case DType::f32:
      return write_converted(page, token, k, v, [](float x) { return x; });
    case DType::bf16:
      return write_converted(page, token, k, v, bf16_from_float);
    case DType::f16:
      return write_converted(page, token, k, v, f16_from_float);
  }
}

}  // namespace dure
