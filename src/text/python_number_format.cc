// Laying out integers and floats for both ways of formatting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/python_format.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

constexpr int max_precision = 1000;

std::string sign_text(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? std::string() : std::string(1, sign);
}

std::string print(const char* format, int precision, double value) {
  const int length = std::snprintf(nullptr, 0, format, precision, value);
  std::string out(static_cast<size_t>(length), '\0');
  std::snprintf(out.data(), out.size() + 1, format, precision, value);
  return out;
}

// Separators every `every` digits of the part before the point.
void group(std::string& digits, char separator, size_t every) {
  size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  if (every == 3) end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (size_t at = end; at > every; at -= every) digits.insert(at - every, 1, separator);
}

// Python's general format without a type: like repr, but with at least one digit behind the point.
std::string general(double value, int precision) {
  std::string out = print("%.*g", precision == 0 ? 1 : precision, value);
  const bool plain = out.find_first_of(".en") == std::string::npos;
  return plain ? out + ".0" : out;
}

}  // namespace

NumberText layout_real(double value, const NumberLayout& layout) {
  if (layout.precision > max_precision) {
    throw JinjaError(Fault::limit, "a number with more than 1000 digits behind the point");
  }
  NumberText out{sign_text(std::signbit(value) && !std::isnan(value), layout.sign), ""};
  value = std::fabs(value);
  const bool upper = layout.type == 'E' || layout.type == 'F' || layout.type == 'G';
  if (!std::isfinite(value)) {
    out.digits = std::isnan(value) ? "nan" : "inf";
  } else {
    const int precision = layout.precision < 0 ? 6 : layout.precision;
    switch (layout.type | 0x20) {
      case 'e':
        out.digits = print(layout.alternate ? "%#.*e" : "%.*e", precision, value);
        break;
      case 'f':
        out.digits = print(layout.alternate ? "%#.*f" : "%.*f", precision, value);
        break;
      case 'g':
      case 'n':
        out.digits = print(layout.alternate ? "%#.*g" : "%.*g", precision, value);
        break;
      case '%' | 0x20:
        out.digits = print("%.*f", precision, value * 100) + "%";
        break;
      default:
        out.digits = layout.precision < 0 ? py_repr(value) : general(value, layout.precision);
        break;
    }
  }
  if (upper) std::transform(out.digits.begin(), out.digits.end(), out.digits.begin(), ::toupper);
  if (layout.grouping) group(out.digits, layout.grouping, 3);
  return out;
}

NumberText layout_integer(const BigInt& value, const NumberLayout& layout) {
  NumberText out{sign_text(value.negative(), layout.sign), ""};
  const BigInt magnitude = value.negative() ? -value : value;
  const int base = layout.type == 'b'            ? 2
                   : layout.type == 'o'          ? 8
                   : (layout.type | 0x20) == 'x' ? 16
                                                 : 10;
  if (base == 10) {
    out.digits = magnitude.to_string();
  } else {
    BigInt rest = magnitude, quotient, digit;
    do {
      BigInt::floor_divide(rest, BigInt(base), quotient, digit);
      out.digits.push_back("0123456789abcdef"[digit.to_int64().value_or(0)]);
      rest = quotient;
    } while (!rest.is_zero());
    std::reverse(out.digits.begin(), out.digits.end());
    if (layout.type == 'X') {
      std::transform(out.digits.begin(), out.digits.end(), out.digits.begin(), ::toupper);
    }
    if (layout.alternate) out.sign += std::string("0") + layout.type;
  }
  if (layout.grouping) group(out.digits, layout.grouping, base == 10 ? 3 : 4);
  return out;
}

}  // namespace dure::jinja
