// Character classes and case mappings of Python's str methods as sorted runs (Unicode 14, as in
// CPython 3.11). Data only; python_unicode.h has the functions over it.
#pragma once

#include <cstdint>
#include <span>

namespace dure {

struct CodeRun {
  uint32_t first, last;  // inclusive
  uint32_t step;         // 1 or 2: every code point, or every other one
};
struct CaseRun {
  uint32_t first, last, step;
  int32_t delta;  // what the mapping adds
};
struct CaseSpecial {
  uint32_t code;
  const char* utf8;  // more than one character
};
struct CaseMap {
  std::span<const CaseRun> runs;
  std::span<const CaseSpecial> special;
};

extern const std::span<const CodeRun> python_hidden_class;  // repr() escapes these
extern const std::span<const CodeRun> python_alpha_class;
extern const std::span<const CodeRun> python_decimal_class;
extern const std::span<const CodeRun> python_digit_class;
extern const std::span<const CodeRun> python_numeric_class;
extern const std::span<const CodeRun> python_lower_class;
extern const std::span<const CodeRun> python_upper_class;
extern const std::span<const CodeRun> python_title_class;
extern const std::span<const CodeRun> python_case_ignorable_class;
extern const CaseMap python_upper_map;
extern const CaseMap python_lower_map;
extern const CaseMap python_title_map;

}  // namespace dure
