// JSON as models write it, read while it comes: text is passed on as it is, and only as much is
// understood as is needed to know where a value ends.
#pragma once

#include <string>

#include "dialogue/reading.h"

namespace dure::dialogue {

// Takes the rest of a string behind its opening quote, unescaped (a lone surrogate becomes U+FFFD;
// raw line breaks, which models write, are taken as they are). False if the answer ends inside it.
Parsing<bool> read_string(Reading& r, std::string& text);
// The same; the text becomes the call's arguments.
Parsing<bool> arguments_from_string(Reading& r);

// Takes one value and appends it to `into` as it is, or to the call's arguments if null. False
// where the value is broken off: nothing is taken that cannot belong to it.
Parsing<bool> copy_value(Reading& r, std::string* into);

void append_escaped(std::string& json, char byte);  // inside a JSON string
std::string json_quoted(std::string_view text);

}  // namespace dure::dialogue
