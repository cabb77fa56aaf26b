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

const KernelTable* table_of(std::string_view isa) {
  if (isa == "avx2") return &avx2_kernels();
  return isa.starts_with("avx512") ? &avx512_kernels() : nullptr;
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

PeakLoop peak_loop(std::string_view isa, Products products) {
  constexpr int64_t fma_lanes = 16;
  const KernelTable* const kernels = table_of(isa);
  if (kernels == nullptr) return {scalar_loop, 16};
  if (products == Products::int8) {
    const bool vnni = isa == "avx512-vnni" || isa == "avx512-bf16";
    return {vnni ? avx512_vnni_peak : kernels->peak_codes, peak_sums * fma_lanes * 8};
  }
  if (isa == "avx512-bf16" && products == Products::bf16)
    return {avx512_bf16_peak, peak_sums * fma_lanes * 4};
  return {kernels->peak, peak_sums * fma_lanes * 2};
}

uint64_t read_stream(std::string_view isa, const std::byte* data, int64_t bytes) {
  const KernelTable* const kernels = table_of(isa);
  return kernels == nullptr ? scalar_stream(data, bytes) : kernels->read_stream(data, bytes);
}

}  // namespace dure
