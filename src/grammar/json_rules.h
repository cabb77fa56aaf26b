// JSON of RFC 8259 as rules of an automaton: what the schemas are built from, and what stands where
// a schema allows anything. Strings hold what the RFC allows: no raw control characters, valid
// UTF-8, surrogate escapes in pairs only.
#pragma once

#include <optional>
#include <string>

#include "grammar/automaton_builder.h"

namespace dure::grammar {

enum class Spacing {
  compact,  // one space may follow a ',' or ':'
  free,  // up to 64 blanks and line ends wherever the RFC allows them inside the outermost braces
};

class JsonRules {
 public:
  JsonRules(AutomatonBuilder& builder, Spacing spacing) : builder_(builder), spacing_(spacing) {}

  // Each is made when first asked for.
  RuleId value();
  RuleId object();
  RuleId array();
  RuleId string();
  RuleId number();
  RuleId integer();
  RuleId boolean();
  RuleId null();
  RuleId character();    // of a string, raw or escaped: what minLength and maxLength count
  RuleId string_tail();  // any characters and the closing quote

  // A '{' or '[', a '}' or ']', and what separates members and elements, with the white space.
  void add_open(StateId from, char bracket, StateId to);
  void add_close(StateId from, char bracket, StateId to);
  void add_separator(StateId from, char mark, StateId to);  // ',' or ':'

 private:
  using Slot = std::optional<RuleId>;

  RuleId blanks();
  void add_pair(StateId from, StateId to);

  AutomatonBuilder& builder_;
  Spacing spacing_;
  Slot value_, object_, array_, string_, number_, integer_, boolean_, null_, character_, tail_,
      blanks_;
};

}  // namespace dure::grammar
