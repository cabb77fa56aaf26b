// Expressions into arcs of an automaton. Characters are written as UTF-8, or as they stand inside a
// JSON string, where some can only be escapes.
#pragma once

#include "grammar/automaton_builder.h"
#include "grammar/expression.h"

namespace dure::grammar {

enum class Encoding { utf8, json_string };

// The characters that a JSON string can hold as escapes only.
const CodePoints& escaped_in_json();

class Emitter {
 public:
  Emitter(AutomatonBuilder& builder, Encoding encoding) : builder_(builder), encoding_(encoding) {}

  void emit(const Expression& expression, StateId from, StateId to);

  // One character of the set. In a JSON string: raw where RFC 8259 allows it, else its shortest
  // escape (\" \\ \n \u001f).
  void emit_characters(const CodePoints& set, StateId from, StateId to);

 private:
  void emit_choice(const Expression& expression, StateId from, StateId to);
  void emit_repeat(const Expression& expression, StateId from, StateId to);
  void emit_copies(const Expression& expression, StateId from, StateId to);
  void emit_text(std::string_view text, StateId from, StateId to);
  void emit_utf8(const CodePoints& set, StateId from, StateId to);
  std::string encoded(std::string_view text) const;
  bool literal_of(const Expression& expression, std::string& text) const;

  AutomatonBuilder& builder_;
  Encoding encoding_;
};

}  // namespace dure::grammar
