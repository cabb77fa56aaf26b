// From a validated request to token ids and a generation that the engine can take.
#pragma once

#include <string>
#include <vector>

#include "server/requests.h"
#include "server/served_model.h"

namespace dure {

// Throws bad_input where the model has no chat template, or in the template's own words.
std::string render(const Conversation& conversation, const ServedModel& model);

std::vector<int32_t> encode(const Conversation& conversation, const ServedModel& model);
// Of a conversation that was rendered already.
std::vector<int32_t> encode_rendered(const std::string& text, const Conversation& conversation,
                                     const ServedModel& model);
std::vector<int32_t> encode(const Prompt& prompt, bool add_special, const ServedModel& model);

// One for each choice, without sinks; those behind the first draw with other seeds, made from the
// request's. Throws a RequestError (context_length_exceeded) naming both numbers when prompt and
// answer do not fit the context or the KV cache. `field` is where the prompt came from.
std::vector<Generation> make_generations(const GenerationFields& fields,
                                         const std::vector<int32_t>& prompt,
                                         const std::string& field, const ServedModel& model);

// Each sequence of a request has the lists of token ids that it names. Throws bad_input where those
// of all its prompts and choices are more than the engine should hold.
void check_lists(const GenerationFields& fields, size_t prompts);

}  // namespace dure
