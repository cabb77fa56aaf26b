// The answers of gpt-oss, which are a row of messages on channels instead of text with calls in it.
#pragma once

#include "dialogue/reading.h"

namespace dure::dialogue {

// Reads the whole answer: "analysis" is reasoning, "final" and "commentary" are content, and what
// is sent to a function is a call. The prompt ends inside the first header, behind its role.
Parsing<bool> read_harmony(Reading& r);

}  // namespace dure::dialogue
