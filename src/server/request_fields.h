// The pieces that several request parsers share.
#pragma once

#include "server/fields.h"
#include "server/requests.h"

namespace dure {

// Reads `model`; throws ModelNotFound for one that is not served.
std::string read_model(Fields& fields, const ServedModel& model);

// Everything but the prompt. `default_max_tokens` is what an absent max_tokens means.
GenerationFields read_generation(Fields& fields, const ServedModel& model,
                                 int32_t default_max_tokens);

// messages, add_generation_prompt, continue_final_message, chat_template_kwargs,
// add_special_tokens.
Conversation read_conversation(Fields& fields);

}  // namespace dure
