// exp, tanh, softplus, sums and loads by type over Lanes. Include after one lanes_*.h.
#pragma once

namespace dure {
namespace {

// e^x with a relative error below 2^-22 (2 units in the last place) where the result is normal, and
// an absolute error below 2^-148 where it is not; +inf above 88.73, 0 below -104, NaN for NaN;
// exp(0) = 1.
//
// x = n ln2 + r with |r| <= ln2 / 2, e^r by its Taylor polynomial of degree 7, whose remainder is
// at most r^8 / 8! * sqrt(2) < 2^-27. Sources of error relative to e^r, in units of 2^-24: the
// remainder 1/8; the last fma 1.42 (half a unit of a result in [0.707, 1.42)); the rounding of the
// inner Horner value, which enters as r * p with |r p| < 0.42, less than 0.6; r itself: n *
// ln2_high is exact (9 + 8 bits) and its difference to x too (Sterbenz), ln2_low is good to 2^-24 *
// 2^-12 and the last step rounds r by at most 2^-26: 0.3. Sum below 2.5 = 2^-22.6. The scaling is
// exact for normal results.
inline Lanes exp(Lanes x) {
  x = min(all(89.0f), max(all(-104.0f), x));
  const Lanes n = round_to_even(x * all(1.44269504f));
  Lanes r = fma(n, all(-0.693359375f), x);  // ln2_high = 355 / 512
  r = fma(n, all(2.12194440e-4f), r);       // ln2_low = ln2 - ln2_high
  Lanes p = fma(all(1.0f / 5040), r, all(1.0f / 720));
  p = fma(p, r, all(1.0f / 120));
  p = fma(p, r, all(1.0f / 24));
  p = fma(p, r, all(1.0f / 6));
  p = fma(p, r, all(0.5f));
  p = fma(p, r, all(1.0f));
  p = fma(p, r, all(1.0f));
  return scale_by_power(p, n);
}

// tanh x with a relative error below 2^-21; +-1 beyond 10, NaN for NaN.
//
// m / (m + 2) with m = e^2x - 1, and m without cancellation: 2x = n ln2 + r as in exp, q = e^r - 1
// by the same Taylor polynomial, m = 2^n q + (2^n - 1). Errors relative to the result, in units of
// 2^-24. In q: the remainder 0.3; the last fma 1; two roundings in p * r, of which q feels r^2 p /
// q < 0.19: 0.4; below 1.8 together. n = 0: r is exact and m = q. Else r adds an absolute 0.3, so
// that m has (1.8 |q| + 0.3) 2^n / |m| and 1 for its own rounding (above n = 24 another for that of
// 2^n - 1): worst at n = 1, q = -0.293, where m = 0.414: 5.1. The quotient feels 2 / (m + 2) of
// that: 0.83
// * 5.1 there; for x < 0 at most 1.2 * 2.8 (n = -1, q = 0.414). The sum m + 2 and the quotient
// round once each: below 4.3 + 2 < 8 = 2^-21.
inline Lanes tanh(Lanes x) {
  x = min(all(10.0f), max(all(-10.0f), x));
  x = x + x;
  const Lanes n = round_to_even(x * all(1.44269504f));
  Lanes r = fma(n, all(-0.693359375f), x);
  r = fma(n, all(2.12194440e-4f), r);
  Lanes p = fma(all(1.0f / 5040), r, all(1.0f / 720));
  p = fma(p, r, all(1.0f / 120));
  p = fma(p, r, all(1.0f / 24));
  p = fma(p, r, all(1.0f / 6));
  p = fma(p, r, all(0.5f));
  const Lanes q = fma(p * r, r, r);
  const Lanes power = scale_by_power(all(1.0f), n);
  const Lanes m = fma(q, power, power - all(1.0f));
  return m / (m + all(2.0f));
}

inline Lanes sigmoid(Lanes x) {
  return all(1.0f) / (all(1.0f) + exp(zero() - x));
}
// x * sigmoid(z)
inline Lanes gated(Lanes x, Lanes z) {
  return x / (all(1.0f) + exp(zero() - z));
}
inline Lanes silu(Lanes x) {
  return gated(x, x);
}

// ln(1 + e^x) with a relative error below 2^-21 where e^x is normal, 2^-148 absolute where it is
// not; NaN for NaN.
//
// max(x, 0) + ln(1 + z) with z = e^-|x| in [0, 1], and ln(1 + z) = 2 atanh s = 2 s (1 + w / 3 + w^2
// / 5 + ...) with s = z / (z + 2) <= 1 / 3, w = s^2 <= 1 / 9. Errors relative to the logarithm, in
// units of 2^-24: exp 2.7, of which it feels z / ((1 + z) ln(1 + z)) <= 1; s 2 (a sum and a
// quotient); w 5, which counts w / 3 * 1.2: 0.2; the last Horner step 1 and those before it 0.1;
// what the series leaves out, w^8 / 17 * 1.2, 0.03. The last fma rounds the result: below 7.2
// together.
inline Lanes softplus(Lanes x) {
  const Lanes z = exp(min(x, zero() - x));
  const Lanes s = z / (z + all(2.0f));
  const Lanes w = s * s;
  Lanes p = fma(all(1.0f / 15), w, all(1.0f / 13));
  p = fma(p, w, all(1.0f / 11));
  p = fma(p, w, all(1.0f / 9));
  p = fma(p, w, all(1.0f / 7));
  p = fma(p, w, all(0.2f));
  p = fma(p, w, all(1.0f / 3));
  p = fma(p, w, all(1.0f));
  return fma(s + s, p, max(zero(), x));
}

// The sum of all lanes in the order of sum_order.h.
inline float sum_of(Lanes x) {
  alignas(64) float lanes[16];
  store(lanes, x);
  for (int half = 8; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}

inline float largest_of(Lanes x) {
  alignas(64) float lanes[16];
  store(lanes, x);
  for (int half = 8; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j)
      lanes[j] = lanes[j] < lanes[j + half] ? lanes[j + half] : lanes[j];
  return lanes[0];
}

// 16 elements of a stored type, and the first n of them.
struct F32 {
  using Stored = float;
  static Lanes load(const float* p) { return dure::load(p); }
  static Lanes load_first(const float* p, int64_t n) { return dure::load_first(p, n); }
};
struct Bf16 {
  using Stored = uint16_t;
  static Lanes load(const uint16_t* p) { return load_bf16(p); }
  static Lanes load_first(const uint16_t* p, int64_t n) { return load_bf16_first(p, n); }
};
struct F16 {
  using Stored = uint16_t;
  static Lanes load(const uint16_t* p) { return load_f16(p); }
  static Lanes load_first(const uint16_t* p, int64_t n) { return load_f16_first(p, n); }
};
struct Fp8 {
  using Stored = uint8_t;
  static Lanes load(const uint8_t* p) { return load_fp8(p); }
  static Lanes load_first(const uint8_t* p, int64_t n) { return load_fp8_first(p, n); }
};

}  // namespace
}  // namespace dure
