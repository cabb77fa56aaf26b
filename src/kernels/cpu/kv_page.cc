// See kv_page.h.
#include "kernels/cpu/kv_page.h"

namespace dure {

void KvPage::write_token(const AttentionSlice& slice, int64_t position, const float* k,
                         const float* v) const {
  const int64_t page = slice.page_of(position / cache_.page_tokens);
  const int64_t token = position % cache_.page_tokens;
  std::byte* const k_page = static_cast<std::byte*>(cache_.k) + page * cache_.page_bytes;
  std::byte* const v_page = static_cast<std::byte*>(cache_.v) + page * cache_.page_bytes;
  for (int64_t head = 0; head < cache_.kv_heads; ++head) {
    store_elements(k_page, cache_.dtype, k_index(head, token, 0), cache_.page_tokens, k,
                   cache_.head_dim);
    store_elements(v_page, cache_.dtype, v_index(head, token, 0), 1, v, cache_.v_head_dim);
    k += cache_.head_dim;
    v += cache_.v_head_dim;
  }
}

}  // namespace dure
