// The tree that all front ends (regex, EBNF, JSON schema) share: what a text may look like.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/code_points.h"

namespace dure::grammar {

struct Expression {
  enum class Kind : uint8_t { sequence, choice, repeat, text, characters, rule, begin, end };

  Kind kind = Kind::sequence;     // an empty sequence is the empty text
  uint32_t low = 0, high = 0;     // of a repeat; high may be unbounded
  RuleId called = 0;              // of a rule
  std::vector<Expression> parts;  // of a sequence, choice or repeat (one)
  std::string bytes;              // of a text: UTF-8
  CodePoints set;                 // of characters: one of them
};

inline Expression empty_text() {
  return {};
}

inline Expression text(std::string bytes) {
  Expression out;
  out.kind = Expression::Kind::text;
  out.bytes = std::move(bytes);
  return out;
}

inline Expression characters(CodePoints set) {
  Expression out;
  out.kind = Expression::Kind::characters;
  out.set = std::move(set);
  return out;
}

inline Expression rule(RuleId called) {
  Expression out;
  out.kind = Expression::Kind::rule;
  out.called = called;
  return out;
}

inline Expression sequence(std::vector<Expression> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  Expression out;
  out.parts = std::move(parts);
  return out;
}

inline Expression choice(std::vector<Expression> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  Expression out;
  out.kind = Expression::Kind::choice;
  out.parts = std::move(parts);
  return out;
}

inline Expression repeat(Expression part, uint32_t low, uint32_t high) {
  Expression out;
  out.kind = Expression::Kind::repeat;
  out.low = low;
  out.high = high;
  out.parts.push_back(std::move(part));
  return out;
}

inline Expression optional(Expression part) {
  return repeat(std::move(part), 0, 1);
}

}  // namespace dure::grammar
