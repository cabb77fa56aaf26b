// The one kernel that needs AVX512_BF16: products of bf16 pairs with vdpbf16ps, which adds two
// products to an fp32 sum per lane and instruction. Compiled with those flags; see kernel_table.h
// for what must not be included here.
#include "kernels/cpu/vector/lanes_avx512.h"
//
#include "kernels/cpu/vector/block_lanes.h"
//
#include "kernels/cpu/vector/block_tables_avx512.h"
#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/tree_lanes.h"

namespace dure {
namespace {

// 12 rows x 32 outputs fill 24 of the 32 registers with sums; each step loads two registers of
// weights, and broadcasts one pair of x per row.
template <int R>
void multiply_pairs(const MatmulTile& tile) {
  const char* weights = static_cast<const char*>(tile.weights);
  const uint32_t* x = static_cast<const uint32_t*>(tile.x);
  const char* prefetch = tile.prefetch;
  Lanes acc[R * 2];
  for (int i = 0; i < R * 2; ++i) acc[i] = zero();
  for (int32_t s = 0; s < tile.segment_count; ++s) {
    for (int i = 0; i < R * 2; ++i) acc[i] = zero();
    for (int64_t step = 0; step < tile.segments[s]; ++step) {
      __builtin_prefetch(prefetch);
      __builtin_prefetch(prefetch + 64);
      const __m512bh left = (__m512bh)_mm512_loadu_si512(weights);
      const __m512bh right = (__m512bh)_mm512_loadu_si512(weights + 64);
      for (int r = 0; r < R; ++r) {
        const __m512bh pair = (__m512bh)_mm512_set1_epi32(static_cast<int>(x[r]));
        acc[r * 2].v = _mm512_dpbf16_ps(acc[r * 2].v, pair, left);
        acc[r * 2 + 1].v = _mm512_dpbf16_ps(acc[r * 2 + 1].v, pair, right);
      }
      weights += 128;
      x += R;
      prefetch += tile.prefetch_step;
    }
    add_segment(acc, tile.tree, s, tile.segment_count);
  }
  for (int r = 0; r < R; ++r) {
    store(tile.out + r * 32, acc[r * 2]);
    store(tile.out + r * 32 + 16, acc[r * 2 + 1]);
  }
}

// The instruction makes zeros of subnormal numbers. What an fp16 scale times integers gives, and
// the difference of two such products, is none: all are multiples of 2^-24, exact in fp32.
struct OutBf16Rounded {
  using Number = uint16_t;
  static __m256i bits(Lanes x) { return (__m256i)_mm512_cvtneps_pbh(x.v); }
  static void put(uint16_t* to, Lanes x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits(x));
  }
};

// FP8, 32 codes at a time, by way of fp16 that is 256 times smaller: the scales make up for it.
void decode_fp8_strip(const StripSteps& steps, uint16_t* to) {
  const __m512i all_but_sign = _mm512_set1_epi16(0x7f);
  __m512 scales[4];
  for (int i = 0; i < 4; ++i)
    scales[i] = _mm512_mul_ps(_mm512_loadu_ps(steps.scales + 16 * i), _mm512_set1_ps(256.0f));
  for (int64_t step = steps.begin; step < steps.end; ++step) {
    for (int half = 0; half < 2; ++half, to += 32) {
      const __m512i codes = _mm512_cvtepu8_epi16(_mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(steps.strip + step * 64 + 32 * half)));
      const __m512i magnitude = _mm512_and_si512(codes, all_but_sign);
      const __mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, all_but_sign);
      const __m512i number =
          _mm512_mask_mov_epi16(_mm512_slli_epi16(magnitude, 7), nan, _mm512_set1_epi16(0x7e00));
      const __m512i sign = _mm512_slli_epi16(_mm512_andnot_si512(all_but_sign, codes), 8);
      const __m512i halves = _mm512_or_si512(number, sign);
      const __m512 first = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
      const __m512 second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
      const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_mul_ps(second, scales[2 * half + 1]),
                                                   _mm512_mul_ps(first, scales[2 * half]));
      _mm512_storeu_si512(to, (__m512i)rounded);
    }
  }
}

template <int R = register_rows>
void multiply(const MatmulTile& tile) {
  if (tile.rows == R) return multiply_pairs<R>(tile);
  if constexpr (R > 1) multiply<R - 1>(tile);
}

}  // namespace

float avx512_bf16_peak(int64_t rounds) {
  __m512 sums[peak_sums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3f003f00);  // pairs of 0.5
  const __m512bh w = (__m512bh)_mm512_set1_epi32(0x3f00bf00);  // their products cancel
  for (int64_t i = 0; i < rounds; ++i)
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, w);
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return _mm512_reduce_add_ps(total);
}

void avx512_bf16_matmul(const MatmulTile& tile) {
  multiply(tile);
}

void avx512_bf16_decoders(KernelTable& table) {
  fill_table_decoders<OutBf16Rounded>(table.decode_bf16);
  table.decode_bf16[4] = decode<BlockQ8_0, OutBf16Rounded>;
  table.decode_bf16[9] = decode<BlockQ6_K, OutBf16Rounded>;
  fill_strips<OutBf16Rounded>(table.strips_bf16_normal);
  table.strips_bf16_normal[0] = decode_fp8_strip;
}

}  // namespace dure
