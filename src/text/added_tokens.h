// Added tokens (special and not) are cut out of the text before anything else: from left to right,
// at each place the longest that matches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // takes the white space on its left
  bool rstrip = false;       // and on its right
  bool normalized = false;   // looked for in the normalised text
};

// A stretch of text: an added token (id >= 0), or what lies between them (id -1).
struct TextSpan {
  int32_t id;
  std::string_view text;
};

class AddedTokens {
 public:
  static constexpr size_t max_length = 1024;  // bytes of one token

  // The contents are not empty, at most max_length long, and distinct.
  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  bool empty() const { return tokens_.empty(); }

  // Cuts valid UTF-8. Without `parse_special`, the text of a special token is passed over: it stays
  // text, and no other token is looked for inside it.
  void cut(std::string_view text, bool parse_special, std::vector<TextSpan>& out) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;  // sorted by content
  std::array<bool, 256> begins_{};  // [byte] whether a token begins with it
};

}  // namespace dure
