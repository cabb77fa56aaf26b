// Schoolbook arithmetic on base-10^9 limbs: the numbers are short and rare.
#include "text/jinja_bigint.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "text/jinja_error.h"

namespace dure::jinja {
namespace {
constexpr uint32_t base = 1'000'000'000;
constexpr size_t max_limbs = 478;  // 4300 digits
}  // namespace

BigInt::BigInt(int64_t value) {
  *this =
      from_unsigned(value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value));
  negative_ = value < 0;
}

BigInt BigInt::from_unsigned(uint64_t value) {
  BigInt out;
  for (; value != 0; value /= base) out.limbs_.push_back(static_cast<uint32_t>(value % base));
  return out;
}

BigInt BigInt::from_double(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  if (exponent <= 0) return {};
  // fraction * 2^53 is whole; shift by the rest, which drops bits when the number is small.
  BigInt out = from_unsigned(static_cast<uint64_t>(std::ldexp(fraction, std::min(exponent, 53))));
  for (int i = 53; i < exponent; ++i) out.multiply_add(2, 0);
  out.negative_ = value < 0 && !out.limbs_.empty();
  return out;
}

std::optional<BigInt> BigInt::from_digits(std::string_view digits, uint32_t radix) {
  BigInt out;
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    uint32_t digit = radix;
    if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
    if (c >= 'a' && c <= 'z') digit = static_cast<uint32_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'Z') digit = static_cast<uint32_t>(c - 'A') + 10;
    if (digit >= radix) return std::nullopt;
    out.multiply_add(radix, digit);
  }
  return out;
}

std::optional<int64_t> BigInt::to_int64() const {
  if (limbs_.size() > 3) return std::nullopt;
  uint64_t magnitude = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    if (__builtin_mul_overflow(magnitude, uint64_t{base}, &magnitude) ||
        __builtin_add_overflow(magnitude, uint64_t{limbs_[i]}, &magnitude)) {
      return std::nullopt;
    }
  }
  constexpr uint64_t top = std::numeric_limits<int64_t>::max();
  if (negative_) {
    if (magnitude > top + 1) return std::nullopt;
    return static_cast<int64_t>(~magnitude + 1);
  }
  if (magnitude > top) return std::nullopt;
  return static_cast<int64_t>(magnitude);
}

double BigInt::to_double() const {
  return std::strtod(to_string().c_str(), nullptr);
}

std::string BigInt::to_string() const {
  if (limbs_.empty()) return "0";
  std::string out = negative_ ? "-" : "";
  out += std::to_string(limbs_.back());
  for (size_t i = limbs_.size() - 1; i-- > 0;) out += fmt::format("{:09}", limbs_[i]);
  return out;
}

BigInt BigInt::operator-() const {
  BigInt out = *this;
  out.negative_ = !negative_ && !limbs_.empty();
  return out;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  BigInt out = a;
  if (a.negative_ == b.negative_) {
    out.add_magnitude(b);
  } else if (BigInt::compare_magnitude(a, b) >= 0) {
    out.subtract_magnitude(b);
  } else {
    out = b;
    out.subtract_magnitude(a);
  }
  return out;
}

BigInt operator*(const BigInt& a, const BigInt& b) {
  BigInt out;
  if (a.limbs_.empty() || b.limbs_.empty()) return out;
  out.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
  for (size_t i = 0; i < a.limbs_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += out.limbs_[i + j] + uint64_t{a.limbs_[i]} * b.limbs_[j];
      out.limbs_[i + j] = static_cast<uint32_t>(carry % base);
      carry /= base;
    }
    out.limbs_[i + b.limbs_.size()] = static_cast<uint32_t>(carry);
  }
  out.negative_ = a.negative_ != b.negative_;
  out.trim();
  return out;
}

void BigInt::floor_divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder) {
  BigInt divisor = b;
  divisor.negative_ = false;
  quotient = {};
  remainder = {};
  quotient.limbs_.assign(a.limbs_.size(), 0);
  for (size_t i = a.limbs_.size(); i-- > 0;) {
    remainder.limbs_.insert(remainder.limbs_.begin(), a.limbs_[i]);
    remainder.trim();
    // The digit by bisection: at most 30 short products.
    uint32_t low = 0, high = base - 1;
    while (low < high) {
      const uint32_t middle = low + (high - low + 1) / 2;
      if (compare_magnitude(divisor * BigInt(middle), remainder) <= 0) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    quotient.limbs_[i] = low;
    if (low != 0) remainder.subtract_magnitude(divisor * BigInt(low));
  }
  quotient.trim();
  if (a.negative_ != b.negative_ && !remainder.limbs_.empty()) {
    quotient = quotient + BigInt(1);
    remainder = divisor - remainder;
  }
  quotient.negative_ = a.negative_ != b.negative_ && !quotient.limbs_.empty();
  remainder.negative_ = b.negative_ && !remainder.limbs_.empty();
}

int compare(const BigInt& a, const BigInt& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? -1 : 1;
  const int order = BigInt::compare_magnitude(a, b);
  return a.negative_ ? -order : order;
}

int BigInt::compare_magnitude(const BigInt& a, const BigInt& b) {
  if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size() ? -1 : 1;
  for (size_t i = a.limbs_.size(); i-- > 0;) {
    if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] < b.limbs_[i] ? -1 : 1;
  }
  return 0;
}

void BigInt::add_magnitude(const BigInt& other) {
  uint32_t carry = 0;
  for (size_t i = 0; i < other.limbs_.size() || carry != 0; ++i) {
    if (i == limbs_.size()) limbs_.push_back(0);
    limbs_[i] += carry + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    carry = limbs_[i] >= base;
    if (carry) limbs_[i] -= base;
  }
  trim();
}

void BigInt::subtract_magnitude(const BigInt& other) {
  int64_t borrow = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    int64_t limb = int64_t{limbs_[i]} - borrow - (i < other.limbs_.size() ? other.limbs_[i] : 0);
    borrow = limb < 0;
    if (borrow) limb += base;
    limbs_[i] = static_cast<uint32_t>(limb);
  }
  trim();
}

void BigInt::multiply_add(uint32_t factor, uint32_t term) {
  uint64_t carry = term;
  for (uint32_t& limb : limbs_) {
    carry += uint64_t{limb} * factor;
    limb = static_cast<uint32_t>(carry % base);
    carry /= base;
  }
  if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
  trim();
}

void BigInt::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
  if (limbs_.size() > max_limbs) {
    throw JinjaError(Fault::limit, "a number of more than 4300 digits");
  }
}

}  // namespace dure::jinja
