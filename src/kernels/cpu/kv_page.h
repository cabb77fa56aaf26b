// Where an element of K and V lies within a page, and its conversion, one number at a time.
//   K: [kv_heads][head_dim][page_tokens]   tokens in the vector lanes
//   V: [kv_heads][page_tokens][head_dim]   head_dim in the vector lanes
#pragma once

#include <cstring>

#include "kernels/backend.h"
#include "kernels/float_bits.h"

namespace dure {

class KvPage {
 public:
  explicit KvPage(const KvLayer& cache) : cache_(cache) {}

  int64_t k_index(int64_t head, int64_t token, int64_t d) const {
    return (head * cache_.head_dim + d) * cache_.page_tokens + token;
  }
  int64_t v_index(int64_t head, int64_t token, int64_t d) const {
    return (head * cache_.page_tokens + token) * cache_.head_dim + d;
  }

  float load(const void* pages, int64_t page, int64_t index) const {
    const std::byte* at = static_cast<const std::byte*>(pages) + offset(page, index);
    if (cache_.dtype == DType::f32) {
      float value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return cache_.dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
  }

  // Writes k and v ([kv_heads, head_dim] each) of one position, converted.
  void write_token(std::span<const int32_t> pages, int64_t position, const float* k,
                   const float* v) const;

 private:
  template <class Convert>
  void write_converted(int64_t page, int64_t token, const float* k, const float* v,
                       const Convert& convert) const;
  int64_t offset(int64_t page, int64_t index) const {
    const int64_t elements = kv_page_elements(cache_.page_tokens, cache_.kv_heads, cache_.head_dim);
    return (page * elements + index) * bytes_of(cache_.dtype);
  }

  KvLayer cache_;
};

}  // namespace dure
