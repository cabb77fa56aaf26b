// What an answer has to look like when the request demands a call: literal text around the JSON of
// the arguments, so that a grammar can hold the model to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "dialogue/formats.h"
#include "dialogue/tools.h"

namespace dure {

struct ForcedCall {
  std::string tool;
  std::string prefix;
  std::shared_ptr<const Json> arguments;  // JSON schema of what stands between; never null
  std::string suffix;
};

struct ForcedCalls {
  // What the answer has to be read as. Formats whose arguments are no JSON (GLM, Qwen3-Coder, ...)
  // are left for Hermes' here: a schema can hold JSON alone.
  CallFormat format = CallFormat::none;
  std::vector<ForcedCall> alternatives;  // the answer is one of them
};

// For tool_choice required (one alternative for each tool) or named (one); none for the other
// choices. The call begins behind the reasoning, if the model reasons.
ForcedCalls forced_calls(CallFormat format, const std::vector<Tool>& tools,
                         const ToolChoice& choice);

}  // namespace dure
