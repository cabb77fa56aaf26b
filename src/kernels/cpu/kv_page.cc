// See kv_page.h.
#include "kernels/cpu/kv_page.h"

namespace dure {

template <class Convert>
void KvPage::write_converted(int64_t page, int64_t token, const float* k, const float* v,
                             const Convert& convert) const {
  using Stored = decltype(convert(0.0f));
  constexpr auto bytes = static_cast<int64_t>(sizeof(Stored));
  const auto write = [&](std::byte* to, float value) {
    const Stored stored = convert(value);
    std::memcpy(to, &stored, sizeof stored);
  };
  std::byte* const k_page = static_cast<std::byte*>(cache_.k) + page * k_page_bytes();
  std::byte* const v_page = static_cast<std::byte*>(cache_.v) + page * v_page_bytes();
  for (int64_t head = 0; head < cache_.kv_heads; ++head) {
    std::byte* const to_k = k_page + k_index(head, token, 0) * bytes;
    for (int64_t d = 0; d < cache_.head_dim; ++d)
      write(to_k + d * cache_.page_tokens * bytes, *k++);
    std::byte* const to_v = v_page + v_index(head, token, 0) * bytes;
    for (int64_t d = 0; d < cache_.v_head_dim; ++d) write(to_v + d * bytes, *v++);
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
