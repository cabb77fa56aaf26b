// The "pre_tokenizer" of tokenizer.json: cuts normalised text into the pieces that are merged one
// by one. Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit,
// CharDelimiterSplit and sequences of them; others are refused by name.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "text/pattern.h"

namespace dure {

// A piece is a stretch of bytes of the text that PreTokenizer::apply was given (and may have
// changed).
struct Piece {
  uint32_t begin, end;
};

class PreTokenizer {
 public:
  struct Scratch {
    Regex::Scratch regex;
    std::vector<Regex::Match> matches;
    std::vector<Piece> pieces;
  };

  PreTokenizer() = default;  // one piece
  static PreTokenizer parse(const Json& component, std::string_view what);

  // Whether pieces are merged byte by byte (ByteLevel, always the last step) instead of character
  // by character.
  bool byte_level() const { return byte_level_; }

  // Cuts `text` (valid UTF-8 below 4 GiB) into pieces, none empty, in order. Steps that insert a
  // prefix change `text`. `at_start`: this is the beginning of the whole input.
  void apply(std::string& text, bool at_start, Scratch& scratch, std::vector<Piece>& pieces) const;

 private:
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  struct Split {
    Pattern pattern;
    Behavior behavior;
    bool invert;
  };
  // Puts `prefix` in front of pieces that do not begin with it.
  struct Prefix {
    std::string prefix;
    bool only_at_start;
  };
  struct Replace {
    std::string from, to;
  };
  using Step = std::variant<Split, Prefix, Replace>;

  static Behavior behavior_of(const std::string& name, std::string_view what);
  void add(const Json& component, std::string_view what, int depth);
  void add_byte_level(const Json& component, std::string_view what);
  void add_metaspace(const Json& component, std::string_view what);
  void add_split(Pattern pattern, Behavior behavior, bool invert = false);
  static void split(const Split& step, std::string_view text, Piece piece, Scratch& scratch,
                    std::vector<Piece>& out);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace dure
