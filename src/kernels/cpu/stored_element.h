// Elements of a cache in its own type, one number at a time.
#pragma once

#include <cstddef>
#include <cstring>

#include "tensor/dtype.h"
#include "tensor/float_bits.h"

namespace dure {

inline float load_element(const std::byte* from, DType dtype, int64_t index) {
  const std::byte* at = from + index * bytes_of(dtype);
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (dtype == DType::fp8) return float_from_fp8(std::to_integer<uint8_t>(*at));
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

// Writes `count` floats, converted, to elements index, index + step, ... of `to`.
inline void store_elements(std::byte* to, DType dtype, int64_t index, int64_t step,
                           const float* values, int64_t count) {
  const auto store = [&](const auto& convert) {
    for (int64_t i = 0; i < count; ++i) {
      const auto stored = convert(values[i]);
      constexpr auto bytes = static_cast<int64_t>(sizeof stored);
      std::memcpy(to + (index + i * step) * bytes, &stored, sizeof stored);
    }
  };
  switch (dtype) {
    case DType::f32:
      return store([](float x) { return x; });
    case DType::bf16:
      return store(bf16_from_float);
    case DType::f16:
      return store(f16_from_float);
    case DType::fp8:
      return store(fp8_from_float);
  }
}

}  // namespace dure
