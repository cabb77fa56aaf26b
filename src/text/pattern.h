// The "pattern" of a component: a literal string or a regular expression.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/regex.h"

namespace dure {

class Pattern {
 public:
  static Pattern literal(std::string text);
  static Pattern regex(std::string_view source, std::string_view what);
  // {"String": "..."} or {"Regex": "..."}.
  static Pattern parse(const Json& pattern, std::string_view what);

  // As Regex::find_all.
  void find_all(std::string_view text, Regex::Scratch& scratch,
                std::vector<Regex::Match>& out) const;
  const std::string* as_literal() const { return regex_ ? nullptr : &literal_; }

 private:
  std::string literal_;
  std::unique_ptr<const Regex> regex_;  // null for a literal
};

}  // namespace dure
