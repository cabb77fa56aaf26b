// Patterns of tokenizer.json read into a tree. The dialect is Oniguruma's (Ruby's), which Hugging
// Face tokenizers uses: leftmost match, first alternative that succeeds, characters are code
// points.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace dure::regex {

inline constexpr uint32_t unlimited = UINT32_MAX;

enum class Greed { greedy, lazy, possessive };
enum class Assertion {
  line_start,
  line_end,
  text_start,
  text_end,
  text_end_or_newline,
  word_edge,
  word_inside
};

struct Node {
  enum class Kind {
    empty,
    set,        // one character of `set`
    sequence,   // children in order
    alternate,  // first child that leads to a match
    repeat,     // children[0], min to max times
    look,       // children[0] must (not) match here, ahead or behind
    atomic,     // children[0], never retried once matched
    assertion,
  };
  Kind kind = Kind::empty;
  unicode::CodeSet set;
  std::vector<Node> children;
  uint32_t min = 0;
  uint32_t max = 0;
  Greed greed = Greed::greedy;
  bool behind = false;
  bool negative = false;
  Assertion assertion = Assertion::text_start;
  char32_t literal = 0;  // of a set that was written as one character, else 0
};

// Throws bad_input naming `what` and the construct for patterns that are wrong or use something
// that is not implemented: back references, named calls, conditionals, and case-insensitive text
// that equals another in which a character became several (ss, ß).
Node parse(std::string_view pattern, std::string_view what);

}  // namespace dure::regex
