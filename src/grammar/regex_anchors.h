// Anchors of a parsed pattern: they may only stand where they say nothing new about a whole text,
// or hold a search to the ends of the text.
#pragma once

#include <string_view>

#include "grammar/expression.h"

namespace dure::grammar {

// For a pattern that matches the whole text: `^` at a beginning and `$` at an end are dropped.
// Throws bad_input naming `what` for one in the middle.
Expression without_anchors(Expression expression, std::string_view what);

// For a pattern that matches somewhere: each alternative may be preceded by anything unless it
// begins with `^`, and followed by anything unless it ends with `$`.
Expression anchored_search(Expression expression, std::string_view what);

}  // namespace dure::grammar
