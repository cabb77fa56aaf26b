// Whole numbers in one AVX-512 register: 16 sums, or four codes of each of 16 outputs. The same
// names as in code_ints_avx2.h. Include after lanes_avx512.h.
#pragma once

namespace dure {
namespace {

constexpr int code_rows = 6;  // of a register tile of integers, which has sums of two kinds

// Declared as 32-bit numbers, not __m512i: GCC would keep sums in both forms, and copy between
// them.
struct Ints {
  __v16si v;
};
inline __m512i bits(Ints a) {
  return reinterpret_cast<__m512i>(a.v);
}
inline Ints ints(__m512i a) {
  return {reinterpret_cast<__v16si>(a)};
}

inline Ints all_ints(int32_t x) {
  return ints(_mm512_set1_epi32(x));
}
inline Lanes to_floats(Ints a) {
  return {_mm512_cvtepi32_ps(bits(a))};
}

// Bytes of 64, in memory order.
inline Ints load_bytes(const void* p) {
  return ints(_mm512_loadu_si512(p));
}
inline Ints low_halves(Ints a) {
  return ints(_mm512_and_si512(bits(a), _mm512_set1_epi8(15)));
}
inline Ints high_halves(Ints a) {
  return ints(_mm512_and_si512(_mm512_srli_epi32(bits(a), 4), _mm512_set1_epi8(15)));
}
// Byte j of each four.
template <int J>
inline Ints byte_of(Ints a) {
  const __m512i down = J == 0 ? bits(a) : _mm512_srli_epi32(bits(a), J * 8);
  return ints(J == 3 ? down : _mm512_and_si512(down, _mm512_set1_epi32(255)));
}

// Of both; NaN if there is one.
inline float largest_magnitude(Lanes a, Lanes b) {
  const __m512i mask = _mm512_set1_epi32(0x7fffffff);
  const __m512i x = _mm512_and_si512(_mm512_castps_si512(a.v), mask);
  const __m512i y = _mm512_and_si512(_mm512_castps_si512(b.v), mask);
  const int largest = _mm512_reduce_max_epi32(_mm512_max_epi32(x, y));
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(largest)));
}
// Whole numbers in [-128, 127].
inline void store_bytes(int8_t* p, Lanes a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a.v)));
}
inline int32_t sum_of_whole(Lanes a, Lanes b) {
  return _mm512_reduce_add_epi32(
      _mm512_add_epi32(_mm512_cvtps_epi32(a.v), _mm512_cvtps_epi32(b.v)));
}

// Sums of four products without VNNI: codes - 128 are signed bytes, whose signs go over to x, so
// that pairs of products (128 * 127 * 2 at most) fit into 16 bits.
struct SignedDot {
  static constexpr int32_t bias = 128;
  struct Codes {
    __m512i magnitude;
    __mmask64 negative;
  };
  static Codes prepare(Ints codes) {
    const __m512i signed_codes = _mm512_xor_si512(bits(codes), _mm512_set1_epi8(-128));
    return {_mm512_abs_epi8(signed_codes), _mm512_movepi8_mask(signed_codes)};
  }
  static void add(Ints& sum, Codes codes, int32_t four) {
    const __m512i x = _mm512_set1_epi32(four);
    const __m512i turned = _mm512_mask_sub_epi8(x, codes.negative, _mm512_setzero_si512(), x);
    const __m512i pairs = _mm512_maddubs_epi16(codes.magnitude, turned);
    sum = ints(_mm512_add_epi32(bits(sum), _mm512_madd_epi16(pairs, _mm512_set1_epi16(1))));
  }
};

}  // namespace
}  // namespace dure
