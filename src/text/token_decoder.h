// The "decoder" of tokenizer.json: what each token contributes to the text. ByteLevel, or a
// sequence of Replace, Strip, Metaspace, ByteFallback, then Fuse, then Strip on the left; others
// are refused by name.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace dure {

class TokenDecoder {
 public:
  // How tokens join.
  enum class Kind {
    bytes,      // byte-level: the bytes of all tokens in a row are UTF-8, invalid parts U+FFFD
    fragments,  // each token is text; <0x..> tokens form runs that are UTF-8 as a whole or not at
                // all
    words,      // no decoder: tokens are joined with a space
  };

  TokenDecoder() = default;
  static TokenDecoder parse(const Json& component, std::string_view what);

  Kind kind() const { return kind_; }
  // fragments: the text of a token as written in the vocabulary; `first`: no token came before it.
  std::string fragment(std::string_view token, bool first) const;
  // fragments: the byte of a token <0x..>, or -1.
  int byte_of(std::string_view fragment) const;
  // fragments: so many of this character (UTF-8) are dropped from the front of the whole text.
  const std::string& strip_character() const { return strip_character_; }
  uint32_t strip_count() const { return strip_count_; }

 private:
  struct Replace {
    std::string from, to;
  };
  struct Strip {
    std::string character;
    uint32_t left, right;  // at most so many
  };
  struct Metaspace {
    std::string replacement;
    bool drop_at_start;
  };
  using Step = std::variant<Replace, Strip, Metaspace>;

  void add(const Json& component, std::string_view what, int depth);
  static Strip parse_strip(const Json& component, std::string_view what);

  Kind kind_ = Kind::words;
  std::vector<Step> steps_;
  bool byte_fallback_ = false;
  bool fused_ = false;
  std::string strip_character_;
  uint32_t strip_count_ = 0;
};

}  // namespace dure
