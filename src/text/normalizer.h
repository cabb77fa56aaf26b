// The "normalizer" of tokenizer.json: what is done to the text between added tokens before it is
// split. NFC, Replace, Prepend and sequences of them; others are refused by name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "text/pattern.h"

namespace dure {

class Normalizer {
 public:
  Normalizer() = default;  // changes nothing
  static Normalizer parse(const Json& component, std::string_view what);

  bool empty() const { return steps_.empty(); }
  // `text` is valid UTF-8; so is the result.
  std::string apply(std::string text, Regex::Scratch& scratch) const;

 private:
  struct Nfc {};
  struct Replace {
    Pattern pattern;
    std::string content;
  };
  struct Prepend {
    std::string content;
  };
  using Step = std::variant<Nfc, Replace, Prepend>;

  void add(const Json& component, std::string_view what, int depth);
  std::vector<Step> steps_;
};

}  // namespace dure
