// See regex_escape.h; the classes of patterns as well, which are mostly escapes and ranges.
#include "grammar/regex_escape.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "grammar/regex_parser.h"

namespace dure::grammar {
namespace {

[[noreturn]] void fail(std::string_view what, std::string_view problem, size_t at) {
  throw_bad_input(fmt::format("{}: {} at byte {} of the pattern", what, problem, at + 1));
}

const CodePoints digits{{'0', '9'}};
const CodePoints word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodePoints space{{'\t', '\r'}, {' ', ' '}};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `digits` hex digits, or any number of them in braces.
bool take_hex(std::string_view text, size_t& at, int digits, uint32_t& value) {
  const bool braces = at < text.size() && text[at] == '{';
  size_t next = at + (braces ? 1 : 0);
  const size_t begin = next;
  uint32_t sum = 0;
  while (next < text.size() && hex_digit(text[next]) >= 0 && sum <= 0x10FFFF &&
         (braces || next - begin < static_cast<size_t>(digits))) {
    sum = sum * 16 + static_cast<uint32_t>(hex_digit(text[next++]));
  }
  if (braces) {
    if (next == begin || next >= text.size() || text[next++] != '}') return false;
  } else if (next - begin != static_cast<size_t>(digits)) {
    return false;
  }
  at = next;
  value = sum;
  return true;
}

CodePoints hex_escape(std::string_view text, size_t& at, char kind, std::string_view what) {
  const size_t begin = at;
  uint32_t value = 0;
  if (!take_hex(text, at, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, value)) {
    fail(what, fmt::format("\\{} without its hex digits", kind), begin);
  }
  if (value >= 0xD800 && value < 0xDC00 && text.substr(at).starts_with("\\u")) {
    size_t next = at + 2;
    uint32_t low = 0;
    if (take_hex(text, next, 4, low) && low >= 0xDC00 && low < 0xE000) {
      at = next;
      return CodePoints::one(0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00));
    }
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    fail(what, "an escape that is no character", begin);
  }
  return CodePoints::one(value);
}

}  // namespace

CodePoints parse_escape(std::string_view text, size_t& at, std::string_view what) {
  if (at >= text.size()) fail(what, "a backslash with nothing behind it", at);
  const char c = text[at++];
  switch (c) {
    case 'd':
      return digits;
    case 'D':
      return digits.complement();
    case 'w':
      return word;
    case 'W':
      return word.complement();
    case 's':
      return space;
    case 'S':
      return space.complement();
    case 'n':
      return CodePoints::one('\n');
    case 'r':
      return CodePoints::one('\r');
    case 't':
      return CodePoints::one('\t');
    case 'f':
      return CodePoints::one('\f');
    case 'v':
      return CodePoints::one('\v');
    case 'a':
      return CodePoints::one('\a');
    case 'e':
      return CodePoints::one(0x1B);
    case '0':
      if (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        fail(what, "an octal escape is not supported, write \\xHH:", at);
      }
      return CodePoints::one(0);
    case 'c':
      if (at < text.size() && ((text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z')) {
        return CodePoints::one(static_cast<uint32_t>(text[at++] & 0x1F));
      }
      fail(what, "\\c without its letter", at);
    case 'x':
    case 'u':
    case 'U':
      return hex_escape(text, at, c, what);
    case 'b':
    case 'B':
      fail(what, fmt::format("a word boundary \\{} is not supported", c), at - 2);
    case 'k':
      fail(what, "a back-reference \\k is not supported", at - 2);
    case 'p':
    case 'P':
      fail(what, fmt::format("a Unicode property \\{} is not supported", c), at - 2);
    default:
      break;
  }
  if (c >= '1' && c <= '9')
    fail(what, fmt::format("a back-reference \\{} is not supported", c), at - 2);
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
    fail(what, fmt::format("the escape \\{} is not supported", c), at - 2);
  }
  std::string_view rest = text.substr(at - 1);
  uint32_t character = 0;
  if (!utf8::take(rest, character)) fail(what, "bytes that are not UTF-8", at - 1);
  at = text.size() - rest.size();
  return CodePoints::one(character);
}

CodePoints parse_class(std::string_view text, size_t& at, std::string_view what) {
  const size_t begin = at;
  CodePoints set;
  const bool negated = at < text.size() && text[at] == '^';
  if (negated) ++at;
  const auto item = [&] {
    if (text[at] == '\\') {
      if (text.substr(at).starts_with("\\b")) {
        at += 2;
        return CodePoints::one('\b');
      }
      ++at;
      return parse_escape(text, at, what);
    }
    if (text.substr(at).starts_with("[:")) fail(what, "a POSIX class [: is not supported", at);
    std::string_view rest = text.substr(at);
    uint32_t character = 0;
    if (!utf8::take(rest, character)) fail(what, "bytes that are not UTF-8", at);
    at = text.size() - rest.size();
    return CodePoints::one(character);
  };
  // A ']' right at the start stands for itself.
  for (bool first = true; at < text.size() && (first || text[at] != ']'); first = false) {
    const CodePoints low = item();
    const bool range = at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']';
    if (!range) {
      set.add(low);
      continue;
    }
    ++at;
    const CodePoints high = item();
    if (low.single() < 0 || high.single() < 0) fail(what, "a range that ends in a class", at);
    if (low.single() > high.single()) fail(what, "a range from high to low", at);
    set.add(static_cast<uint32_t>(low.single()), static_cast<uint32_t>(high.single()));
  }
  if (at >= text.size()) fail(what, "a '[' without its ']'", begin);
  ++at;
  return negated ? set.complement() : set;
}

}  // namespace dure::grammar
