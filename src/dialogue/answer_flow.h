// The answer as a whole: content in which blocks of reasoning and calls open.
#pragma once

#include <string_view>

#include "dialogue/reading.h"

namespace dure::dialogue {

struct ReasoningSyntax {
  std::string_view open;  // only at the beginning of a line; empty: the model has no reasoning
  std::string_view close;
};

struct AnswerSyntax {
  CallSyntax calls;  // without openers: text is not searched for calls
  ReasoningSyntax reasoning;
  bool starts_in_reasoning = false;  // the prompt opened it
};

// Reads the whole answer.
Parsing<bool> read_answer(Reading& r, const AnswerSyntax& syntax);

}  // namespace dure::dialogue
