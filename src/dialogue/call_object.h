// Calls written as a JSON object, {"name": ..., "arguments": {...}}, in whatever marks a format
// puts around it.
#pragma once

#include <span>

#include "dialogue/reading.h"

namespace dure::dialogue {

enum class ObjectEnd {
  no_call,   // not such an object: what was taken is recorded
  complete,  // a call; what follows it is recorded
  stopped,   // a call whose arguments were broken JSON, ended by one of the stops
};

struct ObjectRules {
  // The format's marks already said that this is a call: other keys may be in it, and arguments may
  // be missing. Without marks, an object with any other key is no call: it is the JSON that some
  // user asked for.
  bool marked = false;
  // What ends arguments that are not JSON; up to there they stay text.
  std::span<const Marker> stops;
};

// Reads from behind '{' on. The keys may come in any order; "parameters" is taken for
// "arguments". Arguments that are a string are unescaped: the text inside is meant.
Parsing<ObjectEnd> read_call_object(Reading& r, ObjectRules rules);

}  // namespace dure::dialogue
