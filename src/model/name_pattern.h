// A regular expression over module names, matched in time linear in the name: characters, classes,
// groups, alternatives and repetition. Lookaround, back references and named groups are not
// implemented.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dure {

class NamePattern {
 public:
  // Nothing where the expression is wrong, too long or not implemented.
  static std::optional<NamePattern> parse(std::string_view expression);
  // Some beginning of `name` matches, as with Python's re.match.
  bool matches(std::string_view name) const;

 private:
  friend class NamePatternParser;
  enum class Kind : uint8_t { character, split, jump, begin, end, match };
  struct Step {
    Kind kind = Kind::match;
    uint32_t to = 0;     // of split and jump
    uint32_t other = 0;  // of split
    std::bitset<256> characters;
  };
  void reach(uint32_t at, std::string_view name, size_t position, std::vector<bool>& seen,
             std::vector<uint32_t>& states) const;

  std::vector<Step> steps_;
};

}  // namespace dure
