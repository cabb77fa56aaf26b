// Canonical decomposition, ordering and composition (Unicode Standard Annex 15; Hangul by section
// 3.12 of the Standard), done only where a character might change.
#include "text/nfc.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/utf8.h"
#include "text/unicode.h"

namespace dure {
namespace {

using unicode::Decomposition;

constexpr char32_t syllable_first = 0xAC00, syllable_count = 11172;
constexpr char32_t leading_first = 0x1100, leading_count = 19;
constexpr char32_t vowel_first = 0x1161, vowel_count = 21;
constexpr char32_t trailing_first = 0x11A7, trailing_count = 28;  // the first means "none"
constexpr char32_t block = vowel_count * trailing_count;

bool is_syllable(char32_t c) {
  return c >= syllable_first && c < syllable_first + syllable_count;
}

uint8_t combining_class(char32_t code) {
  const auto* end = unicode::combining_runs + unicode::combining_runs_size;
  const auto* run =
      std::lower_bound(unicode::combining_runs, end, code,
                       [](const unicode::CombiningRun& r, char32_t c) { return r.last < c; });
  return run != end && run->first <= code ? static_cast<uint8_t>(run->combining_class) : 0;
}

const Decomposition* decomposition(char32_t code) {
  const auto* end = unicode::decompositions + unicode::decompositions_size;
  const auto* entry =
      std::lower_bound(unicode::decompositions, end, code,
                       [](const Decomposition& d, char32_t c) { return d.code < c; });
  return entry != end && entry->code == code ? entry : nullptr;
}

uint64_t pair_key(char32_t first, char32_t second) {
  return uint64_t{first} << 32 | second;
}

const std::unordered_map<uint64_t, char32_t>& compositions() {
  static const auto map = [] {
    std::unordered_map<uint64_t, char32_t> made;
    for (size_t i = 0; i < unicode::decompositions_size; ++i) {
      const Decomposition& d = unicode::decompositions[i];
      if (d.composes) made.emplace(pair_key(d.first, d.second), d.code);
    }
    return made;
  }();
  return map;
}

// Characters before which text may not be cut, or that change on their own: marks, whatever
// composes with what stands before it, and whatever decomposes for good.
const unicode::CodeSet& unstable() {
  static const unicode::CodeSet set = [] {
    std::vector<unicode::Range> ranges{{vowel_first, vowel_first + vowel_count - 1},
                                       {trailing_first, trailing_first + trailing_count - 1}};
    for (size_t i = 0; i < unicode::combining_runs_size; ++i)
      ranges.push_back({unicode::combining_runs[i].first, unicode::combining_runs[i].last});
    for (size_t i = 0; i < unicode::decompositions_size; ++i) {
      const Decomposition& d = unicode::decompositions[i];
      const char32_t code = d.composes ? d.second : d.code;
      ranges.push_back({code, code});
    }
    return unicode::CodeSet(std::move(ranges));
  }();
  return set;
}

void decompose(char32_t code, std::u32string& out) {
  if (is_syllable(code)) {
    const char32_t index = code - syllable_first;
    out.push_back(leading_first + index / block);
    out.push_back(vowel_first + index % block / trailing_count);
    if (index % trailing_count != 0) out.push_back(trailing_first + index % trailing_count);
  } else if (const Decomposition* entry = decomposition(code)) {
    decompose(entry->first, out);
    if (entry->second != 0) decompose(entry->second, out);
  } else {
    out.push_back(code);
  }
}

// The composition of two characters, 0 if there is none.
char32_t compose(char32_t first, char32_t second) {
  if (first >= leading_first && first < leading_first + leading_count && second >= vowel_first &&
      second < vowel_first + vowel_count)
    return syllable_first + (first - leading_first) * block +
           (second - vowel_first) * trailing_count;
  if (is_syllable(first) && (first - syllable_first) % trailing_count == 0 &&
      second > trailing_first && second < trailing_first + trailing_count)
    return first + (second - trailing_first);
  const auto found = compositions().find(pair_key(first, second));
  return found == compositions().end() ? 0 : found->second;
}

// Normalises one stretch that begins at a character before which text may be cut.
void normalise(std::string_view stretch, std::string& out) {
  std::u32string codes;
  for (const char* p = stretch.data(); p != stretch.data() + stretch.size();)
    decompose(utf8::next(p), codes);

  struct Mark {
    char32_t code;
    uint8_t rank;
  };
  std::vector<Mark> marks;
  for (const char32_t code : codes) marks.push_back({code, combining_class(code)});
  for (auto first = marks.begin(); first != marks.end();) {
    auto last = std::find_if(first, marks.end(), [](const Mark& m) { return m.rank == 0; });
    std::stable_sort(first, last, [](const Mark& a, const Mark& b) { return a.rank < b.rank; });
    first = last == marks.end() ? last : last + 1;
  }

  constexpr size_t none = static_cast<size_t>(-1);
  size_t starter = none;  // index into `result`
  uint8_t last_rank = 0;  // of the last mark kept since the starter
  std::u32string result;
  for (const Mark& mark : marks) {
    if (starter != none) {
      const bool adjacent = starter + 1 == result.size();
      const bool blocked = !adjacent && (last_rank == 0 || last_rank >= mark.rank);
      const char32_t composed = blocked ? 0 : compose(result[starter], mark.code);
      if (composed != 0) {
        result[starter] = composed;
        continue;
      }
    }
    if (mark.rank == 0) starter = result.size();
    last_rank = mark.rank;
    result.push_back(mark.code);
  }
  for (const char32_t code : result) utf8::append(out, code);
}

}  // namespace

std::string nfc(std::string_view text) {
  const unicode::CodeSet& special = unstable();
  const char* const end = text.data() + text.size();
  std::string out;
  out.reserve(text.size());
  const char* clean = text.data();    // what is before it has been written
  const char* starter = text.data();  // the last place where text may be cut
  const auto slice = [](const char* a, const char* b) {
    return std::string_view(a, static_cast<size_t>(b - a));
  };
  for (const char* p = text.data(); p != end;) {
    const char* const here = p;
    const char32_t code = utf8::next(p);
    // Nothing below the combining marks changes, and Hangul syllables only gain what follows.
    if (code < 0x300 || is_syllable(code) || !special.contains(code)) {
      starter = here;
      continue;
    }
    const char* stop = p;
    while (stop != end) {
      const char* after = stop;
      if (!special.contains(utf8::next(after))) break;
      stop = after;
    }
    out += slice(clean, starter);
    normalise(slice(starter, stop), out);
    clean = starter = p = stop;
  }
  out += slice(clean, end);
  return out;
}

}  // namespace dure
