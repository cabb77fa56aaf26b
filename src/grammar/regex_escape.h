// What follows a backslash in a pattern, a class or a literal: one character or a class of them.
#pragma once

#include <string_view>

#include "grammar/code_points.h"

namespace dure::grammar {

// Reads from behind the backslash; `at` is a place in `text`. Throws bad_input naming `what` for
// escapes that mean something else (\1, \b, \p) or nothing.
CodePoints parse_escape(std::string_view text, size_t& at, std::string_view what);

}  // namespace dure::grammar
