// The request's side of tool calls: the tools a client offers, which of them the model has to call,
// and the calls in a history that a client sends back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace dure {

struct Tool {
  std::string name;                        // ^[a-zA-Z0-9_.-]{1,64}$
  std::shared_ptr<const Json> parameters;  // an object: a JSON schema; null if none was given
  bool strict = false;                     // the client wants arguments held to the schema
};

// Reads a request's `tools`; null (also a JSON null) and [] mean none. Throws bad_input naming the
// field ("tools[1].function.name").
std::vector<Tool> read_tools(const Json* tools);

struct ToolChoice {
  enum class Kind {
    none,       // text only: the answer is not searched for calls
    automatic,  // the model decides
    required,   // some call
    named,      // a call of `name`
  };
  Kind kind = Kind::none;
  std::string name;
};

// Reads a request's `tool_choice`; absent means automatic where there are tools. Throws bad_input
// with field "tool_choice": unknown forms, required without tools, a name that no tool has.
ToolChoice read_tool_choice(const Json* choice, const std::vector<Tool>& tools);

// Checks the calls in a history before a template sees them: `tool_calls` of assistant messages
// (null and [] mean none; arguments as JSON text, as an object, null or absent), `tool_call_id` of
// tool messages. Any id will do, and arguments that are no JSON too: models write such. Throws
// bad_input naming the field ("messages[2].tool_calls[0].function.name").
void check_history(const Json& messages);

}  // namespace dure
