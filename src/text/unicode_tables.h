// The generated character tables (tools/make_unicode_tables.py): classes and case folding of
// Unicode 16.0, canonical normalisation of Unicode 9.0. Use them through unicode.h and nfc.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dure::unicode {

struct Range {
  char32_t first, last;  // both included
};
struct Script {
  const char* name;
  const Range* ranges;
  size_t size;
};
// Every `step`-th character from first to last folds with `sibling + (c - first)`, the smallest
// character of its case class.
struct FoldRun {
  char32_t first, last, step, sibling;
};
// A character whose full case folding is several characters (0 pads the third).
struct MultiFold {
  char32_t code;
  char32_t folded[3];
};
struct CombiningRun {
  char32_t first, last;
  uint32_t combining_class;
};
// A canonical decomposition into one or two (second != 0) characters; Hangul syllables left out.
struct Decomposition {
  char32_t code, first, second;
  uint32_t composes;  // 1 if the pair composes back
};

extern const char* const category_names[];
extern const size_t category_names_size;
extern const uint32_t category_runs[];  // first code point << 8 | index into category_names
extern const size_t category_runs_size;
extern const Range other_alphabetic[];  // Alphabetic that is neither letter nor letter number
extern const size_t other_alphabetic_size;
extern const Script scripts[];
extern const size_t scripts_size;
extern const FoldRun fold_runs[];  // sorted by first; runs may interleave
extern const size_t fold_runs_size;
extern const MultiFold multi_folds[];
extern const size_t multi_folds_size;
extern const CombiningRun combining_runs[];  // sorted
extern const size_t combining_runs_size;
extern const Decomposition decompositions[];  // sorted by code
extern const size_t decompositions_size;

}  // namespace dure::unicode
