// Reading string, number and name literals.
#include "text/jinja_literal.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The value of `digits` hex digits at `at`.
uint32_t read_hex(std::string_view text, size_t at, size_t digits, int line) {
  uint32_t code = 0;
  for (size_t i = 0; i < digits; ++i) {
    const int digit = at + i < text.size() ? hex_digit(text[at + i]) : -1;
    if (digit < 0) throw JinjaError(Fault::syntax, "truncated escape in a string", line);
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Bytes of digits that `accept` takes, single underscores allowed between them; 0 if none.
template <class F>
size_t digits_length(std::string_view text, size_t at, F accept) {
  size_t i = at;
  while (i < text.size()) {
    const bool between = text[i] == '_' && i > at && i + 1 < text.size() && accept(text[i + 1]);
    if (accept(text[i]) || between) {
      ++i;
    } else {
      break;
    }
  }
  return i - at;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out.push_back(c);
  }
  return out;
}

NumberLiteral whole_number(std::string_view text, size_t from, size_t bytes, uint32_t base) {
  const std::string digits = without_underscores(text.substr(from, bytes));
  return {from + bytes, Value::number(*BigInt::from_digits(digits, base))};
}

// Bytes of a float literal at the start of `text`; 0 if it is not one.
size_t float_length(std::string_view text) {
  size_t i = digits_length(text, 0, is_digit);
  if (i == 0) return 0;
  bool is_float = false;
  if (i < text.size() && text[i] == '.') {
    if (const size_t fraction = digits_length(text, i + 1, is_digit)) {
      i += 1 + fraction;
      is_float = true;
    }
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    if (const size_t exponent = digits_length(text, j, is_digit)) {
      i = j + exponent;
      is_float = true;
    }
  }
  return is_float ? i : 0;
}

}  // namespace

size_t string_literal_length(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    }
  }
  return 0;
}

std::string decode_string_literal(std::string_view inside, int line) {
  std::string out;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      out.push_back(inside[i]);
      continue;
    }
    const char c = inside[++i];  // a literal never ends in a lone backslash
    size_t hex = 0;
    switch (c) {
      case '\n':
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 'a':
        out.push_back('\a');
        break;
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'v':
        out.push_back('\v');
        break;
      case '\\':
      case '\'':
      case '"':
        out.push_back(c);
        break;
      case 'x':
        hex = 2;
        break;
      case 'u':
        hex = 4;
        break;
      case 'U':
        hex = 8;
        break;
      case 'N':
        throw JinjaError(Fault::unsupported, "the escape \\N{...} (a character by its name)", line);
      default: {
        uint32_t code = 0;
        size_t octal = 0;
        while (octal < 3 && i + octal < inside.size() && inside[i + octal] >= '0' &&
               inside[i + octal] <= '7') {
          code = code * 8 + static_cast<uint32_t>(inside[i + octal++] - '0');
        }
        if (octal > 0) {
          utf8::append(out, code);
          i += octal - 1;
        } else {
          out.push_back('\\');
          out.push_back(c);
        }
      }
    }
    if (hex == 0) continue;
    uint32_t code = read_hex(inside, i + 1, hex, line);
    i += hex;
    const bool high = code >= 0xD800 && code < 0xDC00;
    if (high && inside.substr(i + 1).starts_with("\\u")) {
      const uint32_t low = read_hex(inside, i + 3, 4, line);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      throw JinjaError(Fault::syntax, fmt::format("U+{:04X} is not a character", code), line);
    }
    utf8::append(out, code);
  }
  return out;
}

NumberLiteral number_literal(std::string_view text, bool float_allowed) {
  if (text.empty() || !is_digit(text[0])) return {};
  if (float_allowed) {
    if (const size_t bytes = float_length(text)) {
      const double value = std::strtod(without_underscores(text.substr(0, bytes)).c_str(), nullptr);
      return {bytes, Value::real(value)};
    }
  }
  if (text[0] != '0') {
    return whole_number(text, 0, digits_length(text, 0, is_digit), 10);
  }
  const char kind = text.size() > 1 ? static_cast<char>(text[1] | 0x20) : ' ';
  const uint32_t base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (base != 0) {
    size_t from = 2;
    if (from < text.size() && text[from] == '_') ++from;
    const auto accept = [base](char c) {
      const int digit = hex_digit(c);
      return digit >= 0 && static_cast<uint32_t>(digit) < base;
    };
    if (const size_t bytes = digits_length(text, from, accept)) {
      return whole_number(text, from, bytes, base);
    }
  }
  return whole_number(text, 0, digits_length(text, 0, [](char c) { return c == '0'; }), 10);
}

size_t name_length(std::string_view text, int line) {
  size_t i = 0;
  while (i < text.size()) {
    const CodePoint point = code_point_at(text, i);
    if (point.code != '_' && !py_is_alnum(point.code)) break;
    i += point.bytes;
  }
  if (i > 0 && py_is_numeric(code_point_at(text, 0).code)) {
    throw JinjaError(Fault::syntax, "Invalid character in identifier", line);
  }
  return i;
}

}  // namespace dure::jinja
