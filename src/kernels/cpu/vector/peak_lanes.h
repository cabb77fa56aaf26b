// The loops of peak.h over Lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/code_lanes.h"
#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"

namespace dure {
namespace {

inline float peak(int64_t rounds) {
  // Independent sums, enough to hide the latency of a multiply-add.
  Lanes sums[peak_sums];
  for (Lanes& sum : sums) sum = zero();
  const Lanes factor = all(0.5f);
  const Lanes term = all(1.0f);
  for (int64_t i = 0; i < rounds; ++i)
    for (Lanes& sum : sums) sum = fma(sum, factor, term);
  Lanes total = zero();
  for (const Lanes& sum : sums) total = total + sum;
  return sum_of(total);
}

// Sums of four products of bytes each.
inline float peak_codes(int64_t rounds) {
  Ints sums[peak_sums];
  for (Ints& sum : sums) sum = all_ints(0);
  const SignedDot::Codes codes = SignedDot::prepare(all_ints(0x01010101));
  // Other inputs for each sum, or the products would be computed once.
  for (int64_t i = 0; i < rounds; ++i)
    for (int j = 0; j < peak_sums; ++j)
      SignedDot::add(sums[j], codes, static_cast<int32_t>(i) * (2 * j + 1));
  Lanes total = zero();
  for (const Ints& sum : sums) total = total + to_floats(sum);
  return sum_of(total);
}

inline uint64_t read_stream(const void* data, int64_t bytes) {
  const float* p = static_cast<const float*>(data);
  Lanes sums[4] = {zero(), zero(), zero(), zero()};
  for (int64_t i = 0; i < bytes / 256; ++i, p += 64) {
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 4096);
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 4096 + 64);
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 4096 + 128);
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 4096 + 192);
    for (int j = 0; j < 4; ++j) sums[j] = max(load(p + j * 16), sums[j]);
  }
  return static_cast<uint64_t>(sum_of(sums[0] + sums[1] + sums[2] + sums[3]));
}

}  // namespace
}  // namespace dure
