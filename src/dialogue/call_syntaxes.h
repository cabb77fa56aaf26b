// The formats in which models write tool calls, one file per family.
#pragma once

#include "dialogue/reading.h"

namespace dure::dialogue {

// JSON objects: tagged_calls.cc, listed_calls.cc, llama_calls.cc.
CallSyntax hermes_calls();   // <tool_call>{"name": "f", "arguments": {...}}</tool_call>
CallSyntax mistral_calls();  // [TOOL_CALLS][{...}] and [TOOL_CALLS]f[ARGS]{...}
CallSyntax phi4_calls();     // functools[{...}]
CallSyntax llama_calls();  // {"name": "f", "parameters": {...}}, <|python_tag|>, <function=f>{...}

// A section with a head and JSON arguments for each call: section_calls.cc.
CallSyntax deepseek_calls();  // V3, R1 and V3.1
CallSyntax kimi_calls();

// Parameters as elements of their own: element_calls.cc, glm_calls.cc.
CallSyntax qwen_coder_calls();     // <tool_call><function=f><parameter=x>...
CallSyntax minimax_calls();        // <minimax:tool_call><invoke name="f"><parameter name="x">...
CallSyntax deepseek_dsml_calls();  // V3.2 and V4
CallSyntax glm_calls();            // <tool_call>f<arg_key>x</arg_key><arg_value>...

// Python: pythonic_calls.cc.
CallSyntax pythonic_calls();  // [f(x="..."), g()]

}  // namespace dure::dialogue
