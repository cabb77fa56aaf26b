// How activations become integers for products with integer codes (tensor/code_format.h): the
// definition that the vector kernels reproduce bit by bit. Inputs are cut into the weights' groups.
//
// The product of a group is a sum of integers, which is exact in any order; an output adds, group
// after group, fma(float(sum of x * (code - zero)), scale of the weights * scale of the inputs,
// sum so far), one sum per segment from +0, and the segments by BinaryTree (kernels/sum_order.h).
// Not for files compiled for one ISA.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/code_format.h"

namespace dure {

inline constexpr float smallest_quantized = 0x1p-118f;  // what is below it counts as zero

struct QuantizedInputs {
  int8_t codes[code_group] = {};  // those beyond the group's end are 0
  float scale = 0.0f;             // NaN if an input is NaN or infinite: codes are 0 then
};

// scale = largest |x| / 127; codes = x * (127 / largest |x|), rounded to nearest, ties to even.
inline QuantizedInputs quantize_inputs(const float* x, int64_t count) {
  QuantizedInputs group;
  uint32_t largest_bits = 0;  // of magnitudes, which are ordered like their bits, NaN last
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    if (bits > largest_bits) largest_bits = bits;
  }
  const float largest = std::bit_cast<float>(largest_bits);
  if (!(largest < std::numeric_limits<float>::infinity())) {
    group.scale = std::numeric_limits<float>::quiet_NaN();
    return group;
  }
  if (largest < smallest_quantized) return group;
  group.scale = largest / 127.0f;
  const float inverse = 127.0f / largest;
  for (int64_t i = 0; i < count; ++i)
    group.codes[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
  return group;
}

}  // namespace dure
