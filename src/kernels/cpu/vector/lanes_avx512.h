// Lanes: 16 floats in one AVX-512 register. The same names as in lanes_avx2.h; the kernels are
// written once over them. Included by one file only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace dure {
namespace {

struct Lanes {
  __m512 v;
};

constexpr int lanes_at_once = 2;  // Lanes of one panel that a register tile spans
constexpr int register_rows = 12;
constexpr int register_entries = 8;  // of attention
constexpr int dot_rows = 4;          // of a tile of products of rows with rows
constexpr int dot_columns = 4;

inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1u);
}

inline Lanes zero() {
  return {_mm512_setzero_ps()};
}
inline Lanes all(float x) {
  return {_mm512_set1_ps(x)};
}
inline Lanes load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void store(float* p, Lanes a) {
  _mm512_storeu_ps(p, a.v);
}
// The first n lanes (1..16); the others read as zeros and are not touched.
inline Lanes load_first(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
inline void store_first(float* p, int64_t n, Lanes a) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}

inline Lanes operator+(Lanes a, Lanes b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline Lanes operator-(Lanes a, Lanes b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline Lanes operator*(Lanes a, Lanes b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline Lanes operator/(Lanes a, Lanes b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
// a * b - c
inline Lanes fms(Lanes a, Lanes b, Lanes c) {
  return {_mm512_fmsub_ps(a.v, b.v, c.v)};
}
// a * b - c in even lanes, a * b + c in odd ones.
inline Lanes fma_alternating(Lanes a, Lanes b, Lanes c) {
  return {_mm512_fmaddsub_ps(a.v, b.v, c.v)};
}
// Lanes 1 0 3 2 5 4 ...
inline Lanes swap_pairs(Lanes a) {
  return {_mm512_permute_ps(a.v, 0xb1)};
}
// Lanes 0 0 1 1 2 2 ... of the first eight.
inline Lanes twice_each(Lanes a) {
  const __m512i from = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return {_mm512_permutexvar_ps(from, a.v)};
}
// The second if either is NaN.
inline Lanes max(Lanes a, Lanes b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline Lanes min(Lanes a, Lanes b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline Lanes sqrt(Lanes a) {
  return {_mm512_sqrt_ps(a.v)};
}
inline Lanes round_to_even(Lanes a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// a * 2^n for whole n in [-252, 252], in two steps, so that results below the normal range round
// once more at most.
inline Lanes scale_by_power(Lanes a, Lanes n) {
  const __m512i whole = _mm512_cvtps_epi32(n.v);
  const __m512i half = _mm512_srai_epi32(whole, 1);
  const __m512i bias = _mm512_set1_epi32(127);
  const auto power = [&](__m512i e) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(e, bias), 23));
  };
  return {_mm512_mul_ps(_mm512_mul_ps(a.v, power(half)), power(_mm512_sub_epi32(whole, half)))};
}
// The sums of the lanes of each, in the order of sum_order.h.
inline void store_sums(float* to, Lanes a, Lanes b, Lanes c, Lanes d) {
  const auto halves = [](__m512 x, __m512 y) {  // [x[j] + x[j + 8] | y[j] + y[j + 8]]
    return _mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x44), _mm512_shuffle_f32x4(x, y, 0xee));
  };
  const __m512 ab = halves(a.v, b.v);
  const __m512 cd = halves(c.v, d.v);
  __m512 sums = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88),
                              _mm512_shuffle_f32x4(ab, cd, 0xdd));  // four of each: a, b, c, d
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0x4e));
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0xb1));
  const __m512i first_of_four = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_permutexvar_ps(first_of_four, sums)));
}
// a in lanes [begin, end), else b.
inline Lanes keep_between(Lanes a, int64_t begin, int64_t end, Lanes b) {
  const __mmask16 mask =
      static_cast<__mmask16>(first_lanes(end < 0 ? 0 : end) & ~first_lanes(begin < 0 ? 0 : begin));
  return {_mm512_mask_blend_ps(mask, b.v, a.v)};
}

inline Lanes widen_bf16(__m256i bits) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
inline Lanes load_bf16(const uint16_t* p) {
  return widen_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Lanes load_bf16_first(const uint16_t* p, int64_t n) {
  return widen_bf16(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
inline Lanes load_f16(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Lanes load_f16_first(const uint16_t* p, int64_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}

// A magnitude of E4M3 is one of f16 with another bias, and F16C reads small numbers at full speed.
inline Lanes widen_fp8(__m128i bytes) {
  const __m256i bits = _mm256_cvtepu8_epi16(bytes);
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7f));
  const __m256i sign = _mm256_slli_epi16(_mm256_andnot_si256(_mm256_set1_epi16(0x7f), bits), 8);
  const __mmask16 nan = _mm256_cmpeq_epi16_mask(magnitude, _mm256_set1_epi16(0x7f));
  const __m256i half =
      _mm256_mask_mov_epi16(_mm256_slli_epi16(magnitude, 7), nan, _mm256_set1_epi16(0x7e00));
  return {_mm512_mul_ps(_mm512_cvtph_ps(_mm256_or_si256(half, sign)), _mm512_set1_ps(256.0f))};
}
inline Lanes load_fp8(const uint8_t* p) {
  return widen_fp8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Lanes load_fp8_first(const uint8_t* p, int64_t n) {
  return widen_fp8(_mm_maskz_loadu_epi8(first_lanes(n), p));
}

// 16 pairs of bf16 numbers, taken apart.
struct Pairs {
  __m512i bits;
};
inline Pairs load_pairs(const void* p) {
  return {_mm512_loadu_si512(p)};
}
inline Lanes pair_first(Pairs a) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(a.bits, 16))};
}
inline Lanes pair_second(Pairs a) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm512_castsi512_ps(_mm512_and_si512(a.bits, high))};
}

// Rounded to bf16 (nearest even, NaN stays NaN), as the upper halves of 32-bit lanes.
inline __m512i rounded_bits(Lanes a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi32(rounded, nan, quiet);
}
// 16 whole numbers, for what the bits of codes say.
struct Whole {
  __m512i v;
};
inline Whole load_u8(const uint8_t* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline Lanes load_i8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
inline Whole shift_right(Whole a, int n) {
  return {_mm512_srl_epi32(a.v, _mm_cvtsi32_si128(n))};
}
inline Whole shift_left(Whole a, int n) {
  return {_mm512_sll_epi32(a.v, _mm_cvtsi32_si128(n))};
}
inline Whole operator&(Whole a, int mask) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi32(mask))};
}
inline Whole operator|(Whole a, Whole b) {
  return {_mm512_or_si512(a.v, b.v)};
}
// Bit i of a word.
inline Whole bits_of(uint32_t word) {
  const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return Whole{_mm512_srlv_epi32(_mm512_set1_epi32(static_cast<int>(word)), number)} & 1;
}
inline Lanes to_lanes(Whole a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
// levels[a], of 16.
inline Lanes choose(Lanes levels, Whole a) {
  return {_mm512_permutexvar_ps(a.v, levels.v)};
}
inline float half_at(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

// out[i][j] = in[j][i] of 16 rows of 16 elements, `from` and `to` elements apart.
inline void turn_square(const uint32_t* in, int64_t from, uint32_t* out, int64_t to) {
  __m512i a[16];
  __m512i b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(in + i * from);
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  // Of four rows, in each quarter of a register: element 4q + i, 0 <= i < 4.
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512i low_a = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);  // quarters 0 and 2
    const __m512i high_a = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
    const __m512i low_b = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
    const __m512i high_b = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
    _mm512_storeu_si512(out + i * to, _mm512_shuffle_i32x4(low_a, low_b, 0x88));
    _mm512_storeu_si512(out + (i + 8) * to, _mm512_shuffle_i32x4(low_a, low_b, 0xdd));
    _mm512_storeu_si512(out + (i + 4) * to, _mm512_shuffle_i32x4(high_a, high_b, 0x88));
    _mm512_storeu_si512(out + (i + 12) * to, _mm512_shuffle_i32x4(high_a, high_b, 0xdd));
  }
}

inline Lanes round_to_bf16(Lanes a) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm512_castsi512_ps(_mm512_and_si512(rounded_bits(a), high))};
}
inline void store_bf16(uint16_t* p, Lanes a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(a), 16)));
}

}  // namespace
}  // namespace dure
