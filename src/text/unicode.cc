// Character sets from the generated tables.
#include "text/unicode.h"

#include <algorithm>
#include <string>

namespace dure::unicode {
namespace {

struct LongName {
  std::string_view name;  // as `simplified` gives it
  std::string_view category;
};
constexpr LongName long_names[] = {
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"control", "Cc"},
    {"cntrl", "Cc"},
    {"format", "Cf"},
    {"unassigned", "Cn"},
    {"other", "C"},
    {"digit", "Nd"},
};

std::string simplified(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

// All characters whose category's name starts with `prefix` (one or two lower-case letters).
std::optional<CodeSet> category(std::string_view prefix) {
  std::vector<bool> wanted;
  for (size_t i = 0; i < category_names_size; ++i)
    wanted.push_back(simplified(category_names[i]).starts_with(prefix));
  if (prefix.empty() || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return {};
  std::vector<Range> ranges;
  for (size_t i = 0; i < category_runs_size; ++i) {
    if (!wanted[category_runs[i] & 0xFF]) continue;
    const char32_t last = i + 1 < category_runs_size ? (category_runs[i + 1] >> 8) - 1 : last_code;
    ranges.push_back({category_runs[i] >> 8, last});
  }
  return CodeSet(std::move(ranges));
}

CodeSet alphabetic() {
  return category("l")
      ->unite(*category("nl"))
      .unite(CodeSet({other_alphabetic, other_alphabetic + other_alphabetic_size}));
}

// The smallest member of the case class of `code`.
char32_t representative(char32_t code) {
  for (size_t i = 0; i < fold_runs_size && fold_runs[i].first <= code; ++i) {
    const FoldRun& run = fold_runs[i];
    if (code <= run.last && (code - run.first) % run.step == 0)
      return run.sibling + (code - run.first);
  }
  return code;
}

}  // namespace

CodeSet::CodeSet(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

bool CodeSet::contains(char32_t code) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                      [](char32_t c, const Range& r) { return c < r.first; });
  return after != ranges_.begin() && code <= std::prev(after)->last;
}

CodeSet CodeSet::complement() const {
  CodeSet out;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= last_code) out.ranges_.push_back({next, last_code});
  return out;
}

CodeSet CodeSet::unite(const CodeSet& other) const {
  std::vector<Range> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return CodeSet(std::move(all));
}

CodeSet CodeSet::intersect(const CodeSet& other) const {
  return complement().unite(other.complement()).complement();
}

bool CodeSet::operator==(const CodeSet& other) const {
  return std::equal(
      ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(),
      [](const Range& a, const Range& b) { return a.first == b.first && a.last == b.last; });
}

std::optional<CodeSet> property(std::string_view name) {
  const std::string simple = simplified(name);
  if (simple == "any") return CodeSet({{0, last_code}});
  if (simple == "alphabetic" || simple == "alpha") return alphabetic();
  if (simple == "alnum") return alphabetic().unite(*category("nd"));
  if (simple == "space" || simple == "whitespace") return white_space();
  for (const LongName& entry : long_names)
    if (simple == entry.name) return category(simplified(entry.category));
  for (size_t i = 0; i < scripts_size; ++i) {
    if (simple == simplified(scripts[i].name))
      return CodeSet({scripts[i].ranges, scripts[i].ranges + scripts[i].size});
  }
  return simple.size() <= 2 ? category(simple) : std::nullopt;
}

const CodeSet& white_space() {
  static const CodeSet set = category("z")->unite(CodeSet({{0x09, 0x0D}, {0x85, 0x85}}));
  return set;
}

const CodeSet& word() {
  static const CodeSet set =
      word_in_class().unite(CodeSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}));
  return set;
}

const CodeSet& word_in_class() {
  static const CodeSet set =
      alphabetic().unite(*category("m")).unite(*category("nd")).unite(*category("pc"));
  return set;
}

CodeSet with_case_siblings(const CodeSet& set) {
  std::vector<Range> touched;  // representatives of the case classes that `set` has members of
  std::vector<Range> added;
  const auto each_folding = [](auto visit) {
    for (size_t i = 0; i < fold_runs_size; ++i) {
      const FoldRun& run = fold_runs[i];
      for (char32_t c = run.first; c <= run.last; c += run.step)
        visit(c, run.sibling + (c - run.first));
    }
  };
  each_folding([&](char32_t code, char32_t sibling) {
    if (set.contains(code) || set.contains(sibling)) touched.push_back({sibling, sibling});
  });
  const CodeSet classes(std::move(touched));
  each_folding([&](char32_t code, char32_t sibling) {
    if (classes.contains(sibling)) added.insert(added.end(), {{code, code}, {sibling, sibling}});
  });
  return set.unite(CodeSet(std::move(added)));
}

bool has_multi_fold(std::u32string_view text) {
  std::u32string folded;
  for (const char32_t code : text) folded.push_back(representative(code));
  for (size_t i = 0; i < multi_folds_size; ++i) {
    std::u32string sequence;
    for (const char32_t code : multi_folds[i].folded)
      if (code != 0) sequence.push_back(representative(code));
    if (folded.find(sequence) != std::u32string::npos ||
        folded.find(representative(multi_folds[i].code)) != std::u32string::npos)
      return true;
  }
  return false;
}

bool has_multi_fold(const CodeSet& set) {
  for (size_t i = 0; i < multi_folds_size; ++i)
    if (set.contains(multi_folds[i].code)) return true;
  return false;
}

}  // namespace dure::unicode
