// Sets of characters and the properties that patterns name: general categories, scripts, white
// space and simple case folding of Unicode 16.0.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/unicode_tables.h"

namespace dure::unicode {

inline constexpr char32_t last_code = 0x10FFFF;

// A set of code points as sorted, disjoint, non-adjacent ranges.
class CodeSet {
 public:
  CodeSet() = default;
  explicit CodeSet(std::vector<Range> ranges);  // in any order, may overlap
  static CodeSet of(char32_t code) { return CodeSet({{code, code}}); }

  const std::vector<Range>& ranges() const { return ranges_; }
  bool contains(char32_t code) const;
  bool empty() const { return ranges_.empty(); }
  CodeSet complement() const;
  CodeSet unite(const CodeSet& other) const;
  CodeSet intersect(const CodeSet& other) const;
  bool operator==(const CodeSet& other) const;

 private:
  std::vector<Range> ranges_;
};

// The set of \p{name}: a general category ("L", "Lu", "Letter"), a script ("Han") or one of
// Alphabetic, Alnum, Space, White_Space, Digit, Any. Case, spaces, '-' and '_' in the name do not
// matter.
std::optional<CodeSet> property(std::string_view name);

const CodeSet& white_space();  // \s
// \w as Oniguruma has it: outside of [...] with the superscripts and fractions of Latin-1.
const CodeSet& word();
const CodeSet& word_in_class();

// `set` with every character that differs from a member only in case (simple folding).
CodeSet with_case_siblings(const CodeSet& set);

// Whether a run of `text` (or a single character of it) equals, apart from case, several characters
// on one side and one on the other, as "ss" and "ß" do.
bool has_multi_fold(std::u32string_view text);
// Whether a member of `set` folds to several characters.
bool has_multi_fold(const CodeSet& set);

}  // namespace dure::unicode
