// Reading int() and float() arguments.
#include "text/jinja_number.h"

#include <cstdlib>
#include <limits>
#include <string>

#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

// The text without the underscores that stand between two digits; nullopt if one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  const auto digit = [&](size_t i) {
    return i < text.size() && ((text[i] >= '0' && text[i] <= '9') ||
                               ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z'));
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || !digit(i - 1) || !digit(i + 1)) {
      return std::nullopt;
    }
  }
  return out;
}

bool take_sign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

}  // namespace

std::optional<BigInt> parse_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  text = py_strip(text, Side::both);
  const bool negative = take_sign(text);
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == 0 || base == marked)) {
      base = marked;
      text.remove_prefix(2);
      if (text.starts_with('_')) text.remove_prefix(1);
    }
  }
  const auto digits = without_underscores(text);
  if (!digits) return std::nullopt;
  const auto value = BigInt::from_digits(*digits, static_cast<uint32_t>(base == 0 ? 10 : base));
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

std::optional<double> parse_real(std::string_view text) {
  text = py_strip(text, Side::both);
  std::string_view magnitude = text;
  const bool negative = take_sign(magnitude);
  const std::string name = py_lower(magnitude);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (name == "inf" || name == "infinity") return negative ? -infinity : infinity;
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  const auto plain = without_underscores(magnitude);
  if (!plain || plain->empty()) return std::nullopt;
  // strtod also reads hexadecimal and names, which float() does not.
  if (plain->find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (*end != '\0' || plain->front() == '+' || plain->front() == '-') return std::nullopt;
  return negative ? -value : value;
}

}  // namespace dure::jinja
