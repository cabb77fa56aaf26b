// One event of a streamed answer of /v1/completions or /v1/chat/completions, as OpenAI's clients,
// Dure, vLLM, SGLang and llama-server write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dure::load {

struct AnswerUsage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;
};

struct AnswerEvent {
  bool done = false;          // "[DONE]"
  bool has_text = false;      // text, content, reasoning or a piece of a tool call; not ""
  std::string finish_reason;  // "": not said
  std::optional<AnswerUsage> usage;
  std::optional<std::string> error;  // the message of an error object
};

// Throws bad_input for data that is neither "[DONE]" nor a JSON object.
AnswerEvent parse_answer_event(std::string_view data);

// The message of an error's body, {"error": {"message": …}} and its relatives; the body's first
// bytes where it is none of them.
std::string error_message_of(std::string_view body);

}  // namespace dure::load
