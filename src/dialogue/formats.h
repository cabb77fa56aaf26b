// Which format a model writes its calls and its reasoning in: by name, or found out from the chat
// template.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

enum class CallFormat {
  none,  // the answer's text is not searched for calls
  hermes,
  qwen3_coder,
  llama3_json,
  pythonic,
  deepseek_v3,
  deepseek_v31,
  deepseek_dsml,  // V3.2, V4
  glm,
  harmony,       // gpt-oss; always together with ReasoningFormat::harmony
  mistral_list,  // [TOOL_CALLS][{...}]; both are read alike
  mistral_args,  // [TOOL_CALLS]f[ARGS]{...}
  kimi_k2,
  minimax_m2,
  phi4_mini,
};

enum class ReasoningFormat {
  none,
  think,           // <think> ... </think>
  think_at_start,  // the same, and an answer is reasoning until </think> (DeepSeek-R1)
  think_brackets,  // [THINK] ... [/THINK]
  minimax_m3,      // <mm:think> ... </mm:think>
  harmony,
};

struct AnswerFormat {
  CallFormat calls = CallFormat::none;
  ReasoningFormat reasoning = ReasoningFormat::none;

  bool operator==(const AnswerFormat&) const = default;
};

// The names that --tool-parser and --reasoning-parser take are vLLM's, and "none". Throw bad_input
// with the names there are.
CallFormat call_format(std::string_view name);
ReasoningFormat reasoning_format(std::string_view name);
// A format's usual name.
std::string_view to_string(CallFormat format);
std::string_view to_string(ReasoningFormat format);
std::vector<std::string_view> call_format_names();
std::vector<std::string_view> reasoning_format_names();

// From the text of the chat template and, where it says nothing, from the special tokens. A model
// that shows nothing we know has no formats: its text stays content.
AnswerFormat detect_format(std::string_view chat_template,
                           const std::function<bool(std::string_view)>& has_token);

// Whether the prompt has already opened the reasoning that the answer begins with.
bool prompt_opens_reasoning(ReasoningFormat format, std::string_view prompt);

// Whether the answer must be decoded with its special tokens as text: the marks may be such tokens.
bool needs_special_tokens(const AnswerFormat& format);

}  // namespace dure
