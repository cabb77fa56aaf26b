// UTF-8 walking, Python's character classes and its case mappings.
#include "text/python_unicode.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/python_unicode_tables.h"

namespace dure {
namespace {

bool in_class(std::span<const CodeRun> runs, uint32_t code) {
  // Runs with step 2 may interleave with their neighbours, so a few before the found one count too.
  auto it = std::upper_bound(runs.begin(), runs.end(), code,
                             [](uint32_t c, const CodeRun& run) { return c < run.first; });
  for (int back = 0; back < 3 && it != runs.begin(); ++back) {
    --it;
    if (code <= it->last && (code - it->first) % it->step == 0) return true;
  }
  return false;
}

// Appends the mapping of one code point.
void append_mapped(std::string& out, const CaseMap& map, uint32_t code) {
  if (code < 0x80) {
    // ASCII needs no table: the only runs below 0x80 are the letters.
    const bool lower = code >= 'a' && code <= 'z';
    const bool upper = code >= 'A' && code <= 'Z';
    const bool to_lower = &map == &python_lower_map;
    if (to_lower ? upper : lower) code ^= 0x20;
    out.push_back(static_cast<char>(code));
    return;
  }
  const auto special =
      std::lower_bound(map.special.begin(), map.special.end(), code,
                       [](const CaseSpecial& entry, uint32_t c) { return entry.code < c; });
  if (special != map.special.end() && special->code == code) {
    out += special->utf8;
    return;
  }
  auto it = std::upper_bound(map.runs.begin(), map.runs.end(), code,
                             [](uint32_t c, const CaseRun& run) { return c < run.first; });
  for (int back = 0; back < 4 && it != map.runs.begin(); ++back) {
    --it;
    if (code <= it->last && (code - it->first) % it->step == 0) {
      utf8::append(out, code + static_cast<uint32_t>(it->delta));
      return;
    }
  }
  utf8::append(out, code);
}

bool is_cased(uint32_t code) {
  return py_is_lower(code) || py_is_upper(code) || py_is_title(code);
}

// The Greek capital sigma becomes a final one after a cased letter and before none.
bool is_final_sigma(std::string_view text, size_t at, size_t bytes) {
  const auto skip = [](uint32_t c) { return in_class(python_case_ignorable_class, c); };
  bool cased_before = false;
  for (size_t i = at; i > 0;) {
    do --i;
    while (i > 0 && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80);
    const uint32_t code = code_point_at(text, i).code;
    if (skip(code)) continue;
    cased_before = is_cased(code);
    break;
  }
  if (!cased_before) return false;
  for (size_t i = at + bytes; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    i += point.bytes;
    if (!skip(point.code)) return !is_cased(point.code);
  }
  return true;
}

constexpr uint32_t capital_sigma = 0x3A3, final_sigma = 0x3C2;

void append_lower(std::string& out, std::string_view text, size_t at, CodePoint point) {
  if (point.code == capital_sigma && is_final_sigma(text, at, point.bytes)) {
    utf8::append(out, final_sigma);
  } else {
    append_mapped(out, python_lower_map, point.code);
  }
}

template <class F>
void for_each(std::string_view text, F&& f) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    f(i, point);
    i += point.bytes;
  }
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || at + length > text.size()) return {lead, 1};
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {lead, 1};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  return {code, length};
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += code_point_at(text, at).bytes;
    --index;
  }
  return at;
}

bool is_valid_utf8(std::string_view text) {
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (point.bytes == 1 && point.code >= 0x80) return false;
    if (point.bytes > 1 && point.code < least[point.bytes]) return false;
    if (point.code > 0x10FFFF || (point.code >= 0xD800 && point.code <= 0xDFFF)) return false;
    i += point.bytes;
  }
  return true;
}

bool py_is_space(uint32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 28 && code <= 32);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool py_is_line_break(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

bool py_is_printable(uint32_t code) {
  if (code < 0x7F) return code >= 0x20;
  return !in_class(python_hidden_class, code);
}
bool py_is_alpha(uint32_t code) {
  return in_class(python_alpha_class, code);
}
bool py_is_decimal(uint32_t code) {
  return in_class(python_decimal_class, code);
}
bool py_is_digit(uint32_t code) {
  return in_class(python_digit_class, code);
}
bool py_is_numeric(uint32_t code) {
  return in_class(python_numeric_class, code);
}
bool py_is_lower(uint32_t code) {
  return in_class(python_lower_class, code);
}
bool py_is_upper(uint32_t code) {
  return in_class(python_upper_class, code);
}
bool py_is_title(uint32_t code) {
  return in_class(python_title_class, code);
}
bool py_is_alnum(uint32_t code) {
  return py_is_alpha(code) || py_is_decimal(code) || py_is_digit(code) || py_is_numeric(code);
}

std::string py_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each(text, [&](size_t, CodePoint p) { append_mapped(out, python_upper_map, p.code); });
  return out;
}

std::string py_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each(text, [&](size_t at, CodePoint p) { append_lower(out, text, at, p); });
  return out;
}

std::string py_title(std::string_view text) {
  std::string out;
  bool after_cased = false;
  for_each(text, [&](size_t at, CodePoint p) {
    if (after_cased) {
      append_lower(out, text, at, p);
    } else {
      append_mapped(out, python_title_map, p.code);
    }
    after_cased = is_cased(p.code);
  });
  return out;
}

std::string py_capitalize(std::string_view text) {
  std::string out;
  for_each(text, [&](size_t at, CodePoint p) {
    if (at == 0) {
      append_mapped(out, python_title_map, p.code);
    } else {
      append_lower(out, text, at, p);
    }
  });
  return out;
}

std::string py_swapcase(std::string_view text) {
  std::string out;
  for_each(text, [&](size_t at, CodePoint p) {
    if (py_is_upper(p.code)) {
      append_lower(out, text, at, p);
    } else if (py_is_lower(p.code)) {
      append_mapped(out, python_upper_map, p.code);
    } else {
      utf8::append(out, p.code);
    }
  });
  return out;
}

std::string py_casefold(std::string_view text) {
  std::string out;
  // Folding is the lower case of the upper case, except that Cherokee folds to upper case and that
  // the dotless i has no partner.
  const auto folds_upward = [](uint32_t code) {
    return (code >= 0x13A0 && code < 0x1400) || (code >= 0xAB70 && code < 0xABC0);
  };
  for_each(text, [&](size_t, CodePoint p) {
    constexpr uint32_t dotless_i = 0x131;
    constexpr uint32_t capital_sharp_s = 0x1E9E;
    if (p.code == dotless_i) return utf8::append(out, p.code);
    if (p.code == capital_sharp_s) {
      out += "ss";
      return;
    }
    std::string upper;
    append_mapped(upper, python_upper_map, p.code);
    if (folds_upward(p.code)) {
      out += upper;
      return;
    }
    for_each(upper, [&](size_t, CodePoint q) { append_mapped(out, python_lower_map, q.code); });
  });
  return out;
}

bool py_all_upper(std::string_view text) {
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (py_is_lower(point.code) || py_is_title(point.code)) return false;
    any |= py_is_upper(point.code);
    i += point.bytes;
  }
  return any;
}

bool py_all_lower(std::string_view text) {
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (py_is_upper(point.code) || py_is_title(point.code)) return false;
    any |= py_is_lower(point.code);
    i += point.bytes;
  }
  return any;
}

}  // namespace dure
