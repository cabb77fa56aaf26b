// The kernels that need AVX512_VNNI: products of integer codes with vpdpbusd, which adds four
// products of unsigned and signed bytes to an integer sum per lane and instruction. Compiled with
// those flags; see kernel_table.h for what must not be included here.
#include "kernels/cpu/vector/lanes_avx512.h"
//
#include "kernels/cpu/vector/code_ints_avx512.h"
//
#include "kernels/cpu/vector/code_lanes.h"

namespace dure {
namespace {

struct VnniDot {
  static constexpr int32_t bias = 0;
  using Codes = Ints;
  static Codes prepare(Ints codes) { return codes; }
  static void add(Ints& sum, Codes codes, int32_t four) {
    sum = ints(_mm512_dpbusd_epi32(bits(sum), bits(codes), _mm512_set1_epi32(four)));
  }
};

}  // namespace

void avx512_vnni_matmul_q8(const MatmulTile& tile) {
  multiply_coded<VnniDot, Q8>(tile);
}

void avx512_vnni_matmul_q4(const MatmulTile& tile) {
  multiply_coded<VnniDot, Q4>(tile);
}

float avx512_vnni_peak(int64_t rounds) {
  __m512i sums[peak_sums];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const __m512i codes = _mm512_set1_epi8(1);
  const __m512i x = _mm512_set1_epi32(0x01ff01ff);  // 1 and -1, whose products cancel
  for (int64_t i = 0; i < rounds; ++i)
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, codes, x);
  __m512i total = _mm512_setzero_si512();
  for (const __m512i& sum : sums) total = _mm512_add_epi32(total, sum);
  return static_cast<float>(_mm512_reduce_add_epi32(total));
}

}  // namespace dure
