// Whole numbers in two AVX2 registers: 16 sums, or four codes of each of 16 outputs. The same names
// as in code_ints_avx512.h. Include after lanes_avx2.h.
#pragma once

namespace dure {
namespace {

constexpr int code_rows = 2;  // of a register tile of integers, which has sums of two kinds

struct Ints {
  __m256i a, b;
};

inline Ints all_ints(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
inline Lanes to_floats(Ints x) {
  return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}

// Bytes of 64, in memory order.
inline Ints load_bytes(const void* p) {
  const __m256i* const at = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
}
inline Ints low_halves(Ints x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
}
inline Ints high_halves(Ints x) {
  return low_halves({_mm256_srli_epi32(x.a, 4), _mm256_srli_epi32(x.b, 4)});
}
// Byte j of each four.
template <int J>
inline Ints byte_of(Ints x) {
  const __m256i mask = _mm256_set1_epi32(255);
  return {_mm256_and_si256(_mm256_srli_epi32(x.a, J * 8), mask),
          _mm256_and_si256(_mm256_srli_epi32(x.b, J * 8), mask)};
}

// Of both; NaN if there is one.
inline float largest_magnitude(Lanes x, Lanes y) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  const auto magnitude = [mask](__m256 v) {
    return _mm256_and_si256(_mm256_castps_si256(v), mask);
  };
  const __m256i eight = _mm256_max_epi32(_mm256_max_epi32(magnitude(x.a), magnitude(x.b)),
                                         _mm256_max_epi32(magnitude(y.a), magnitude(y.b)));
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtss_f32(_mm_castsi128_ps(four));
}
// Whole numbers in [-128, 127].
inline void store_bytes(int8_t* p, Lanes x) {
  const __m256i words = _mm256_permute4x64_epi64(
      _mm256_packs_epi32(_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)), 0xd8);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline int32_t sum_of_whole(Lanes x, Lanes y) {
  const __m256i eight =
      _mm256_add_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)),
                       _mm256_add_epi32(_mm256_cvtps_epi32(y.a), _mm256_cvtps_epi32(y.b)));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

// Sums of four products: codes - 128 are signed bytes, whose signs go over to x, so that pairs of
// products (128 * 127 * 2 at most) fit into 16 bits.
struct SignedDot {
  static constexpr int32_t bias = 128;
  struct Codes {
    __m256i a, b;  // signed
  };
  static Codes prepare(Ints codes) {
    const __m256i flip = _mm256_set1_epi8(-128);
    return {_mm256_xor_si256(codes.a, flip), _mm256_xor_si256(codes.b, flip)};
  }
  static __m256i add(__m256i sum, __m256i codes, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static void add(Ints& sum, Codes codes, int32_t four) {
    const __m256i x = _mm256_set1_epi32(four);
    sum.a = add(sum.a, codes.a, x);
    sum.b = add(sum.b, codes.b, x);
  }
};

}  // namespace
}  // namespace dure
