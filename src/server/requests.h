// What the API's clients may ask for, after validation: a value of these types cannot be wrong.
// Every parser throws Error (bad_input, or a RequestError) naming the field.
//
// Fields that are known and have no effect here: metadata, store, service_tier, safety_identifier,
// prompt_cache_key, request_id, verbosity. Fields of things this server does not do (suffix, beam
// search …) are refused unless they ask for nothing. All others are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "dialogue/tools.h"
#include "server/generation.h"
#include "server/grammars.h"
#include "server/served_model.h"

namespace dure {

// A refusal with a status or code of its own, as OpenAI's clients know it.
class RequestError : public Error {
 public:
  RequestError(int status, std::string code, std::string message, std::string hint,
               std::string field)
      : Error(ErrorCode::bad_input, std::move(message), std::move(hint), std::move(field)),
        status_(status),
        code_(std::move(code)) {}
  int status() const { return status_; }
  const std::string& api_code() const { return code_; }

 private:
  int status_;
  std::string code_;
};

// What chat and plain completions share.
struct GenerationFields {
  std::string model;  // as the answer names it
  std::optional<int32_t> max_tokens;
  int32_t default_max_tokens = INT32_MAX;  // cut to the room there is
  SamplingParams sampling;                 // with a seed, drawn if the client gave none
  int32_t choices = 1;                     // n: answers to each prompt
  std::vector<std::string> bad_words;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;
  std::vector<int32_t> end_ids;  // of the model's own end
  bool stream = false;
  bool include_usage = false;
  bool skip_special = true;
  bool show_stop_string = false;
  int32_t prompt_logprobs = -1;          // to be told as such; sampling has what is computed
  std::optional<GrammarSource> grammar;  // of the answer
  int32_t priority = 0;
  std::string cache_salt;
  std::string user;
};

// A conversation in the form that templates take.
struct Conversation {
  std::shared_ptr<const Json> messages;
  std::shared_ptr<const Json> tools;               // that the model is told of; null if none
  std::shared_ptr<const Json> template_arguments;  // chat_template_kwargs; null if none
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  bool add_special = false;  // what the tokenizer's post-processor adds
};

struct ChatCall {
  GenerationFields generation;
  Conversation conversation;
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  bool include_reasoning = true;
};

using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionCall {
  GenerationFields generation;
  std::vector<Prompt> prompts;  // at least one
  bool add_special = true;
  bool echo = false;         // the prompt is shown in front of its answer
  bool prompt_only = false;  // max_tokens 0: nothing is answered
};

struct TokenizeCall {
  std::variant<std::string, Conversation> input;
  bool add_special = true;  // of a plain text
};

ChatCall parse_chat_call(std::string_view body, const ServedModel& model);
CompletionCall parse_completion_call(std::string_view body, const ServedModel& model);
TokenizeCall parse_tokenize_call(std::string_view body, const ServedModel& model);
std::vector<int32_t> parse_detokenize_call(std::string_view body, const ServedModel& model);

// JSON schemas of the same bodies, written by the same code (fields.h).
Json describe_chat_call(const ServedModel& model);
Json describe_completion_call(const ServedModel& model);
Json describe_tokenize_call(const ServedModel& model);
Json describe_detokenize_call(const ServedModel& model);

}  // namespace dure
