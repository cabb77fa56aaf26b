// A pattern that must match a string of limited length: the pattern's automaton over characters,
// times a counter.
#pragma once

#include <cstdint>
#include <string_view>

#include "grammar/emit.h"
#include "grammar/expression.h"

namespace dure::grammar {

// Adds what matches the expression (without rules and anchors) and has low to high characters.
// Throws bad_input naming `what` where that needs too many states.
void add_bounded_pattern(AutomatonBuilder& builder, Encoding encoding, const Expression& expression,
                         uint32_t low, uint32_t high, std::string_view what, StateId from,
                         StateId to);

}  // namespace dure::grammar
