// Whole numbers beyond 64 bits, as Python has them; chat templates only meet them in tool
// arguments. Sign and magnitude, base 10^9, bounded to 4300 digits (Python's own limit for
// printing).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure::jinja {

class BigInt {
 public:
  BigInt() = default;
  BigInt(int64_t value);  // NOLINT: converts like a number
  static BigInt from_unsigned(uint64_t value);
  static BigInt from_double(double value);  // truncates; the value must be finite
  // Digits in a base of 2 to 36, without sign or underscores; nullopt if any is out of range.
  static std::optional<BigInt> from_digits(std::string_view digits, uint32_t base);

  bool negative() const { return negative_; }
  bool is_zero() const { return limbs_.empty(); }
  std::optional<int64_t> to_int64() const;  // nullopt when it does not fit
  double to_double() const;                 // infinite when too large
  std::string to_string() const;

  BigInt operator-() const;
  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b) { return a + -b; }
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  // Python's // and %: the quotient rounds down, the remainder has the divisor's sign. b is not
  // zero.
  static void floor_divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder);
  friend int compare(const BigInt& a, const BigInt& b);  // -1, 0, 1

 private:
  static int compare_magnitude(const BigInt& a, const BigInt& b);
  void add_magnitude(const BigInt& other);
  void subtract_magnitude(const BigInt& other);  // |this| >= |other|
  void multiply_add(uint32_t factor, uint32_t term);
  void trim();

  bool negative_ = false;
  std::vector<uint32_t> limbs_;  // least significant first, each below 10^9
};

}  // namespace dure::jinja
