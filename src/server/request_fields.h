// The pieces that several request parsers share.
#pragma once

#include "server/fields.h"
#include "server/requests.h"

namespace dure {

// Reads `model`; 404 (model_not_found) for one that is not served.
std::string read_model(Fields& fields, const ServedModel& model);

constexpr int32_t most_logprobs = 20;  // alternatives told beside a token, as OpenAI and vLLM

// Everything but the prompt and `logprobs`, whose form differs. `least_tokens`: of max_tokens.
GenerationFields read_generation(Fields& fields, const ServedModel& model, int32_t least_tokens);

// How tokens are drawn, with a seed in any case.
SamplingParams read_sampling(Fields& fields, const ServedModel& model);

// response_format, guided_…, structured_outputs: at most one of them.
std::optional<GrammarSource> read_grammar(Fields& fields);

// tools, tool_choice, parallel_tool_calls, reasoning_effort, include_reasoning; behind
// read_conversation, which they add to.
void read_tool_fields(Fields& fields, ChatCall& call);

// messages, add_generation_prompt, continue_final_message, chat_template_kwargs,
// add_special_tokens.
Conversation read_conversation(Fields& fields);

}  // namespace dure
