// Lanes: 16 floats in two AVX2 registers. The same names as in lanes_avx512.h; the kernels are
// written once over them. Included by one file only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace dure {
namespace {

struct Lanes {
  __m256 a, b;
};

constexpr int lanes_at_once = 1;  // Lanes of one panel that a register tile spans
constexpr int register_rows = 4;
constexpr int register_entries = 4;  // of attention
constexpr int dot_rows = 4;          // of a tile of products of rows with rows
constexpr int dot_columns = 1;

inline __m256i first_lanes(int64_t n) {
  const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), number);
}

inline Lanes zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
inline Lanes all(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline Lanes load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline void store(float* p, Lanes x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
// The first n lanes (1..16); the others read as zeros and are not touched.
inline Lanes load_first(const float* p, int64_t n) {
  if (n >= 16) return load(p);
  return {_mm256_maskload_ps(p, first_lanes(n)), _mm256_maskload_ps(p + 8, first_lanes(n - 8))};
}
inline void store_first(float* p, int64_t n, Lanes x) {
  if (n >= 16) return store(p, x);
  _mm256_maskstore_ps(p, first_lanes(n), x.a);
  _mm256_maskstore_ps(p + 8, first_lanes(n - 8), x.b);
}

inline Lanes operator+(Lanes x, Lanes y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
inline Lanes operator-(Lanes x, Lanes y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
inline Lanes operator*(Lanes x, Lanes y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
inline Lanes operator/(Lanes x, Lanes y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
inline Lanes fma(Lanes x, Lanes y, Lanes z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
// x * y - z
inline Lanes fms(Lanes x, Lanes y, Lanes z) {
  return {_mm256_fmsub_ps(x.a, y.a, z.a), _mm256_fmsub_ps(x.b, y.b, z.b)};
}
// x * y - z in even lanes, x * y + z in odd ones.
inline Lanes fma_alternating(Lanes x, Lanes y, Lanes z) {
  return {_mm256_fmaddsub_ps(x.a, y.a, z.a), _mm256_fmaddsub_ps(x.b, y.b, z.b)};
}
// Lanes 1 0 3 2 5 4 ...
inline Lanes swap_pairs(Lanes x) {
  return {_mm256_permute_ps(x.a, 0xb1), _mm256_permute_ps(x.b, 0xb1)};
}
// Lanes 0 0 1 1 2 2 ... of the first eight.
inline Lanes twice_each(Lanes x) {
  return {_mm256_permutevar8x32_ps(x.a, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
          _mm256_permutevar8x32_ps(x.a, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
}
// The second if either is NaN.
inline Lanes max(Lanes x, Lanes y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
inline Lanes min(Lanes x, Lanes y) {
  return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
inline Lanes sqrt(Lanes x) {
  return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)};
}
inline Lanes round_to_even(Lanes x) {
  constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, mode), _mm256_round_ps(x.b, mode)};
}
inline __m256 scale_by_power(__m256 x, __m256 n) {
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const auto power = [&](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, bias), 23));
  };
  return _mm256_mul_ps(_mm256_mul_ps(x, power(half)), power(_mm256_sub_epi32(whole, half)));
}
// x * 2^n for whole n in [-252, 252], in two steps, so that results below the normal range round
// once more at most.
inline Lanes scale_by_power(Lanes x, Lanes n) {
  return {scale_by_power(x.a, n.a), scale_by_power(x.b, n.b)};
}
// The sums of the lanes of each, in the order of sum_order.h.
inline void store_sums(float* to, Lanes a, Lanes b, Lanes c, Lanes d) {
  const auto halves = [](Lanes x, Lanes y) {  // four of x | four of y
    const __m256 eight_x = _mm256_add_ps(x.a, x.b);
    const __m256 eight_y = _mm256_add_ps(y.a, y.b);
    return _mm256_add_ps(_mm256_permute2f128_ps(eight_x, eight_y, 0x20),
                         _mm256_permute2f128_ps(eight_x, eight_y, 0x31));
  };
  const __m256d ab = _mm256_castps_pd(halves(a, b));
  const __m256d cd = _mm256_castps_pd(halves(c, d));
  const __m256 two = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)),
                                   _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));  // a c | b d
  const __m256 one =
      _mm256_add_ps(_mm256_shuffle_ps(two, two, 0x88), _mm256_shuffle_ps(two, two, 0xdd));
  _mm_storeu_ps(to, _mm_unpacklo_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1)));
}
// x in lanes [begin, end), else y.
inline Lanes keep_between(Lanes x, int64_t begin, int64_t end, Lanes y) {
  const auto blend = [&](__m256 in, __m256 other, int64_t from) {
    const __m256i mask = _mm256_andnot_si256(first_lanes(begin - from), first_lanes(end - from));
    return _mm256_blendv_ps(other, in, _mm256_castsi256_ps(mask));
  };
  return {blend(x.a, y.a, 0), blend(x.b, y.b, 8)};
}

inline __m256 widen_bf16(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline __m128i load_eight(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
struct Sixteen {
  uint16_t value[16];
};
inline Sixteen copy_first(const uint16_t* p, int64_t n) {
  Sixteen copy = {};
  for (int64_t i = 0; i < n && i < 16; ++i) copy.value[i] = p[i];
  return copy;
}
inline Lanes load_bf16(const uint16_t* p) {
  return {widen_bf16(load_eight(p)), widen_bf16(load_eight(p + 8))};
}
inline Lanes load_bf16_first(const uint16_t* p, int64_t n) {
  const Sixteen copy = copy_first(p, n);
  return load_bf16(copy.value);
}
inline Lanes load_f16(const uint16_t* p) {
  return {_mm256_cvtph_ps(load_eight(p)), _mm256_cvtph_ps(load_eight(p + 8))};
}
inline Lanes load_f16_first(const uint16_t* p, int64_t n) {
  const Sixteen copy = copy_first(p, n);
  return load_f16(copy.value);
}

// A magnitude of E4M3 is one of f16 with another bias, and F16C reads small numbers at full speed.
inline Lanes load_fp8(const uint8_t* p) {
  const __m256i bits = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7f));
  const __m256i sign = _mm256_slli_epi16(_mm256_andnot_si256(_mm256_set1_epi16(0x7f), bits), 8);
  const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
  const __m256i half = _mm256_or_si256(_mm256_slli_epi16(magnitude, 7),
                                       _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00)));
  const __m256i all_bits = _mm256_or_si256(half, sign);
  const __m256 scale = _mm256_set1_ps(256.0f);
  return {_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(all_bits)), scale),
          _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(all_bits, 1)), scale)};
}
inline Lanes load_fp8_first(const uint8_t* p, int64_t n) {
  uint8_t copy[16] = {};
  for (int64_t i = 0; i < n && i < 16; ++i) copy[i] = p[i];
  return load_fp8(copy);
}

// 16 pairs of bf16 numbers, taken apart.
struct Pairs {
  __m256i a, b;
};
inline Pairs load_pairs(const void* p) {
  const __m256i* const at = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
}
inline Lanes pair_first(Pairs x) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(x.a, 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(x.b, 16))};
}
inline Lanes pair_second(Pairs x) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm256_castsi256_ps(_mm256_and_si256(x.a, high)),
          _mm256_castsi256_ps(_mm256_and_si256(x.b, high))};
}

// 16 whole numbers, for what the bits of codes say.
struct Whole {
  __m256i a, b;
};
inline __m128i load_eight_bytes(const uint8_t* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
inline Whole load_u8(const uint8_t* p) {
  return {_mm256_cvtepu8_epi32(load_eight_bytes(p)), _mm256_cvtepu8_epi32(load_eight_bytes(p + 8))};
}
inline Lanes load_i8(const uint8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_eight_bytes(p))),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_eight_bytes(p + 8)))};
}
inline Whole shift_right(Whole x, int n) {
  const __m128i count = _mm_cvtsi32_si128(n);
  return {_mm256_srl_epi32(x.a, count), _mm256_srl_epi32(x.b, count)};
}
inline Whole shift_left(Whole x, int n) {
  const __m128i count = _mm_cvtsi32_si128(n);
  return {_mm256_sll_epi32(x.a, count), _mm256_sll_epi32(x.b, count)};
}
inline Whole operator&(Whole x, int mask) {
  const __m256i all_bits = _mm256_set1_epi32(mask);
  return {_mm256_and_si256(x.a, all_bits), _mm256_and_si256(x.b, all_bits)};
}
inline Whole operator|(Whole x, Whole y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
// Bit i of a word.
inline Whole bits_of(uint32_t word) {
  const __m256i all_bits = _mm256_set1_epi32(static_cast<int>(word));
  return Whole{_mm256_srlv_epi32(all_bits, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
               _mm256_srlv_epi32(all_bits, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))} &
         1;
}
inline Lanes to_lanes(Whole x) {
  return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}
// levels[x], of 16.
inline Lanes choose(Lanes levels, Whole x) {
  const auto of_eight = [&](__m256i index) {  // its fourth bit becomes the sign that blends
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(levels.a, index),
                            _mm256_permutevar8x32_ps(levels.b, index),
                            _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
  };
  return {of_eight(x.a), of_eight(x.b)};
}
inline float half_at(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

// out[i][j] = in[j][i] of 16 rows of 16 elements, `from` and `to` elements apart.
inline void turn_square(const uint32_t* in, int64_t from, uint32_t* out, int64_t to) {
  for (int64_t row = 0; row < 16; row += 8) {
    for (int64_t column = 0; column < 16; column += 8) {
      __m256 a[8];
      __m256 b[8];
      for (int64_t i = 0; i < 8; ++i)
        a[i] = _mm256_castsi256_ps(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + (row + i) * from + column)));
      for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
      }
      for (int i = 0; i < 8; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
      }
      for (int64_t i = 0; i < 4; ++i) {
        const auto put = [&](int64_t at, __m256 x) {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + (column + at) * to + row),
                              _mm256_castps_si256(x));
        };
        put(i, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        put(i + 4, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
      }
    }
  }
}

// Rounded to bf16 (nearest even, NaN stays NaN); the lower halves of the result are zeros.
inline __m256 round_to_bf16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  return _mm256_castsi256_ps(_mm256_and_si256(_mm256_blendv_epi8(rounded, quiet, nan), high));
}
inline Lanes round_to_bf16(Lanes x) {
  return {round_to_bf16(x.a), round_to_bf16(x.b)};
}
inline void store_bf16(uint16_t* p, Lanes x) {
  const __m256i a = _mm256_srli_epi32(_mm256_castps_si256(round_to_bf16(x.a)), 16);
  const __m256i b = _mm256_srli_epi32(_mm256_castps_si256(round_to_bf16(x.b)), 16);
  const __m256i mixed = _mm256_packus_epi32(a, b);  // a0-3 b0-3 a4-7 b4-7
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(mixed, 0xd8));
}

}  // namespace
}  // namespace dure
