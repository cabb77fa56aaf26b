// See peak.h.
#include "kernels/cpu/vector/peak.h"

#include <cstring>

#include "kernels/cpu/vector/kernel_table.h"

namespace dure {
namespace {

float scalar_loop(int64_t rounds) {
  float sums[8] = {};
  for (int64_t i = 0; i < rounds; ++i)
    for (float& sum : sums) sum = sum * 0.5f + 1.0f;
  float total = 0.0f;
  for (const float sum : sums) total += sum;
  return total;
}

uint64_t scalar_stream(const std::byte* data, int64_t bytes) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, sizeof word);
    sum += word;
  }
  return sum;
}

}  // namespace

PeakLoop peak_loop(std::string_view isa, bool pairs) {
  constexpr int64_t fma_lanes = 16;
  if (isa == "avx512-bf16" && pairs) return {avx512_bf16_peak, peak_sums * fma_lanes * 4};
  if (isa == "avx512-bf16" || isa == "avx512")
    return {avx512_kernels().peak, peak_sums * fma_lanes * 2};
  if (isa == "avx2") return {avx2_kernels().peak, peak_sums * fma_lanes * 2};
  return {scalar_loop, 16};
}

uint64_t read_stream(std::string_view isa, const std::byte* data, int64_t bytes) {
  if (isa == "avx512-bf16" || isa == "avx512") return avx512_kernels().read_stream(data, bytes);
  if (isa == "avx2") return avx2_kernels().read_stream(data, bytes);
  return scalar_stream(data, bytes);
}

}  // namespace dure
