// What a load asks a server before it begins: its model's name, and how it sees words.
#pragma once

#include <string>

#include "load/prompt.h"
#include "load/transport.h"

namespace dure::load {

// The first model that GET PREFIX/v1/models lists. Throws unavailable where nobody answers,
// `failed` for an answer that is no such list, bad_input for one that refuses (401, 404).
std::string first_model(Transport& transport, const std::string& prefix);

// Asks PREFIX/tokenize, in vLLM's form (Dure, vLLM, SGLang) and in llama-server's. A server that
// has none of them is sent words, taken for one token each.
PromptStyle learn_style(Transport& transport, const std::string& prefix, const std::string& model,
                        bool chat);

}  // namespace dure::load
