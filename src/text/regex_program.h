// A pattern compiled for the backtracking matcher. Characters are first mapped to classes: two
// characters are of the same class if every set of the pattern holds both or neither, so that the
// matcher only ever sees one byte per character.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/regex_syntax.h"

namespace dure::regex {

enum class Op : uint8_t {
  set,              // one character of `set`
  loop_greedy,      // min to max characters of `set`, as many as possible first
  loop_lazy,        // the same, as few as possible first
  loop_possessive,  // as many as possible, final
  split,            // try `x`, then `y`
  jump,             // to `x`
  mark,             // remember the position in slot `x`
  leave_if_stuck,   // go to `y` if the position is that of slot `x`: an empty turn ends a loop
  guard,            // begin of an atomic or looked-at part
  commit,           // end of an atomic part: forget its alternatives
  seen,             // end of a positive look: the same, and back to where it began
  refuse,           // begin of a negative look; if the part fails go on at `x`
  refuted,          // end of a negative look: the part matched, so fail
  back,             // `x` characters back, for a look behind
  assertion,        // `x` is an Assertion
  accept,
};

struct Instruction {
  Op op;
  uint8_t set = 0;
  uint32_t x = 0;  // min for loops
  uint32_t y = 0;  // max for loops
};

using ClassSet = std::array<bool, 256>;  // by character class

struct Program {
  std::vector<Instruction> code;
  std::vector<uint32_t> entries;     // one per alternative of the whole pattern, in order
  std::vector<uint64_t> candidates;  // [class] bit i: entry i may match a text that starts so
  uint64_t at_end = 0;               // bit i: entry i may match at the end of the text
  std::vector<ClassSet> sets;
  uint32_t slots = 0;

  std::vector<uint16_t> pages;   // [code point / 256] index into leaves / 256
  std::vector<uint8_t> classes;  // leaves: the class of each character
  uint8_t class_of(char32_t code) const {
    return classes[size_t{pages[code >> 8]} << 8 | (code & 0xFF)];
  }
  uint8_t word_set = 0;  // the sets of \w and of the newline, where assertions need them
  uint8_t newline_set = 0;
};

// Throws bad_input, naming `what`, for patterns that compile to too much and for look behinds whose
// alternatives have no fixed length.
Program compile(const Node& node, std::string_view what);

}  // namespace dure::regex
