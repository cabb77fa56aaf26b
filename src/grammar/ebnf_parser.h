// Grammars as text: GBNF of llama.cpp, and what Lark's notation shares with it.
//
//   root  ::= item ("," item)*          # or  start: item ("," item)*
//   item  ::= [a-z]+ | "\"" [^"\n]* "\"" | 'x'{2,3} | /regex/ | .
//
// A rule ends where the next one begins. In rules written with ':' (Lark), [x] is an optional part
// and x~2..3 a count; names may be preceded by '?' or '!'; a string followed by i takes either
// case. The answer is a sentence of the rule `root`, or `start`. Left recursion of a rule into
// itself is turned into repetition; through other rules it is refused, as are %import, %ignore,
// templates and priorities.
#pragma once

#include <string_view>

#include "grammar/automaton_builder.h"

namespace dure::grammar {

// Adds all rules of the text and returns the one to begin with. Throws bad_input naming the line.
RuleId add_ebnf(AutomatonBuilder& builder, std::string_view text);

}  // namespace dure::grammar
