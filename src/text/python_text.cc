// Stripping, line splitting and repr() as Python does them.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "text/python_unicode.h"

namespace dure {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

void append_hex(std::string& out, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out.push_back(hex_digits[value >> shift & 0xF]);
  }
}

bool contains_code(std::string_view chars, uint32_t code) {
  for (size_t i = 0; i < chars.size();) {
    const CodePoint point = code_point_at(chars, i);
    if (point.code == code) return true;
    i += point.bytes;
  }
  return false;
}

char choose_quote(std::string_view text) {
  return text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
}

// The escapes that text and bytes share; false if the character needs none of them.
bool append_common_escape(std::string& out, uint32_t code, char quote) {
  switch (code) {
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\t':
      out += "\\t";
      return true;
    case '\\':
      out += "\\\\";
      return true;
    default:
      break;
  }
  if (code != static_cast<unsigned char>(quote)) return false;
  out.push_back('\\');
  out.push_back(quote);
  return true;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (!found) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

std::string_view py_strip(std::string_view text, Side side, const std::string_view* chars) {
  const auto goes = [&](uint32_t code) {
    return chars ? contains_code(*chars, code) : py_is_space(code);
  };
  if (side != Side::right) {
    while (!text.empty()) {
      const CodePoint point = code_point_at(text, 0);
      if (!goes(point.code)) break;
      text.remove_prefix(point.bytes);
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      size_t at = text.size() - 1;
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      if (!goes(code_point_at(text, at).code)) break;
      text = text.substr(0, at);
    }
  }
  return text;
}

std::vector<std::string_view> py_splitlines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const size_t end = i;
    i += point.bytes;
    if (!py_is_line_break(point.code)) continue;
    if (point.code == '\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(start, (keep_ends ? i : end) - start));
    start = i;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::string py_repr(std::string_view text) {
  const char quote = choose_quote(text);
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (append_common_escape(out, point.code, quote)) {
    } else if (py_is_printable(point.code)) {
      out += text.substr(i, point.bytes);
    } else if (point.code < 0x100) {
      out += "\\x";
      append_hex(out, point.code, 2);
    } else if (point.code < 0x10000) {
      out += "\\u";
      append_hex(out, point.code, 4);
    } else {
      out += "\\U";
      append_hex(out, point.code, 8);
    }
    i += point.bytes;
  }
  out.push_back(quote);
  return out;
}

std::string py_repr_bytes(std::string_view bytes) {
  const char quote = choose_quote(bytes);
  std::string out = "b";
  out.push_back(quote);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (append_common_escape(out, byte, quote)) continue;
    if (byte >= 0x20 && byte < 0x7F) {
      out.push_back(c);
    } else {
      out += "\\x";
      append_hex(out, byte, 2);
    }
  }
  out.push_back(quote);
  return out;
}

std::string py_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Shortest digits that read back, laid out as Python does: exponents below -4 or from 16 on.
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer - 1, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  *end.ptr = '\0';
  const int exponent = std::atoi(buffer + e + 1);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string out(buffer, fixed.ptr);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

}  // namespace dure
