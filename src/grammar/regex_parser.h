// Regular expressions as JSON schema's "pattern" and guided_regex use them: what ECMA 262, Python
// and PCRE agree on and an automaton can express. \d \w \s are ASCII; `.` is any character but a
// line feed; lazy quantifiers match what greedy ones do. Refused by name: back-references,
// look-around, word boundaries, possessive and atomic groups, inline flags, \p{…}, anchors in the
// middle.
#pragma once

#include <string>
#include <string_view>

#include "grammar/expression.h"

namespace dure::grammar {

// The expression of a pattern that has to match a whole text; anchors at its ends change nothing.
// Throws bad_input naming `what` and the place in the pattern.
Expression parse_regex(std::string_view pattern, std::string_view what);

// Of a pattern that has to match somewhere in a text: `^` and `$` hold it to the ends.
Expression parse_regex_search(std::string_view pattern, std::string_view what);

// Reads a class from behind its '[' to behind its ']'. `at` is a place in `text`.
CodePoints parse_class(std::string_view text, size_t& at, std::string_view what);

}  // namespace dure::grammar
