// Where an element of K and V lies within a page, and its conversion, one number at a time.
//   K: [kv_heads][head_dim][page_tokens]   tokens in the vector lanes
//   V: [kv_heads][page_tokens][v_head_dim] v_head_dim in the vector lanes
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/stored_element.h"

namespace dure {

class KvPage {
 public:
  explicit KvPage(const KvLayer& cache) : cache_(cache) {}

  int64_t k_index(int64_t head, int64_t token, int64_t d) const {
    return (head * cache_.head_dim + d) * cache_.page_tokens + token;
  }
  int64_t v_index(int64_t head, int64_t token, int64_t d) const {
    return (head * cache_.page_tokens + token) * cache_.v_head_dim + d;
  }

  float load_k(int64_t page, int64_t index) const {
    return load_element(static_cast<const std::byte*>(cache_.k) + page * cache_.page_bytes,
                        cache_.dtype, index);
  }
  float load_v(int64_t page, int64_t index) const {
    return load_element(static_cast<const std::byte*>(cache_.v) + page * cache_.page_bytes,
                        cache_.dtype, index);
  }

  // Writes k ([kv_heads, head_dim]) and v ([kv_heads, v_head_dim]) of one position, converted.
  void write_token(const AttentionSlice& slice, int64_t position, const float* k,
                   const float* v) const;

 private:
  KvLayer cache_;
};

}  // namespace dure
