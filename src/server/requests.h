// What the API's clients may ask for, after validation: a value of these types cannot be wrong.
// Every parser throws bad_input (unknown model: ModelNotFound) naming the field.
//
// Fields that are known and have no effect here: user, metadata, store, service_tier,
// safety_identifier, prompt_cache_key, parallel_tool_calls, request_id, reasoning_effort,
// verbosity. Fields of things this server does not do (tools, logprobs, penalties …) are refused
// unless they ask for nothing. All others are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "server/generation.h"
#include "server/served_model.h"

namespace dure {

// The request names a model that is not served here: HTTP 404.
class ModelNotFound : public Error {
 public:
  using Error::Error;
};

// What chat and plain completions share.
struct GenerationFields {
  std::string model;        // as the answer names it
  int32_t max_tokens = 0;   // 0: as many as there is room for
  SamplingParams sampling;  // with a seed, drawn if the client gave none
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;  // end of sequence included
  bool stream = false;
  bool include_usage = false;
  bool skip_special = true;
  bool show_stop_string = false;
};

// A conversation in the form that templates take.
struct Conversation {
  std::shared_ptr<const Json> messages;
  std::shared_ptr<const Json> template_arguments;  // chat_template_kwargs; null if none
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  bool add_special = false;  // what the tokenizer's post-processor adds
};

struct ChatCall {
  GenerationFields generation;
  Conversation conversation;
};

using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionCall {
  GenerationFields generation;
  std::vector<Prompt> prompts;  // at least one
  bool add_special = true;
};

struct TokenizeCall {
  std::variant<std::string, Conversation> input;
  bool add_special = true;  // of a plain text
};

ChatCall parse_chat_call(std::string_view body, const ServedModel& model);
CompletionCall parse_completion_call(std::string_view body, const ServedModel& model);
TokenizeCall parse_tokenize_call(std::string_view body, const ServedModel& model);
std::vector<int32_t> parse_detokenize_call(std::string_view body, const ServedModel& model);

}  // namespace dure
