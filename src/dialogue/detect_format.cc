// What a model's chat template shows of its formats (formats.h): the marks that it puts around the
// calls and the reasoning of earlier turns are the ones that the model writes.
#include <algorithm>

#include "dialogue/formats.h"

namespace dure {
namespace {

struct Evidence {
  std::vector<std::string_view> marks;  // all of them
  CallFormat calls;
};

// In order: formats that use another's marks come first.
const Evidence* call_evidence(std::string_view chat_template) {
  static const std::vector<Evidence> table = {
      {{"<|channel|>", "<|message|>"}, CallFormat::harmony},
      {{"｜DSML｜"}, CallFormat::deepseek_dsml},
      {{"<｜tool▁calls▁begin｜>", "```json"}, CallFormat::deepseek_v3},
      {{"<｜tool▁calls▁begin｜>"}, CallFormat::deepseek_v31},
      {{"<|tool_calls_section_begin|>"}, CallFormat::kimi_k2},
      {{"]<]minimax[>["}, CallFormat::none},  // parameters nested as elements, not read yet
      {{"<minimax:tool_call>"}, CallFormat::minimax_m2},
      {{"<tool_call>", "<arg_key>"}, CallFormat::glm},
      {{"<function=", "<parameter="}, CallFormat::qwen3_coder},
      {{"[TOOL_CALLS]", "[ARGS]"}, CallFormat::mistral_args},
      {{"[TOOL_CALLS]"}, CallFormat::mistral_list},
      {{"functools["}, CallFormat::phi4_mini},
      {{"<tool_call>", "</tool_call>"}, CallFormat::hermes},
      {{"[func_name1("}, CallFormat::pythonic},
      {{"{\"name\": function name, \"parameters\""}, CallFormat::llama3_json},
      {{"<|python_tag|>"}, CallFormat::llama3_json},
  };
  const auto shown = [&](const Evidence& evidence) {
    return std::all_of(evidence.marks.begin(), evidence.marks.end(), [&](std::string_view mark) {
      return chat_template.find(mark) != std::string_view::npos;
    });
  };
  const auto found = std::find_if(table.begin(), table.end(), shown);
  return found == table.end() ? nullptr : &*found;
}

// Tokens that exist for calls alone, for templates that know nothing of calls.
CallFormat by_token(const std::function<bool(std::string_view)>& has_token) {
  struct Token {
    std::string_view text;
    CallFormat calls;
  };
  constexpr Token table[] = {
      {"<|channel|>", CallFormat::harmony},
      {"<｜tool▁calls▁begin｜>", CallFormat::deepseek_v31},
      {"<|tool_calls_section_begin|>", CallFormat::kimi_k2},
      {"[TOOL_CALLS]", CallFormat::mistral_list},
      {"<arg_key>", CallFormat::glm},
      {"<|python_tag|>", CallFormat::llama3_json},
  };
  for (const auto& [text, calls] : table) {
    if (has_token(text)) return calls;
  }
  return CallFormat::none;
}

ReasoningFormat reasoning_of(std::string_view chat_template,
                             const std::function<bool(std::string_view)>& has_token) {
  const auto shown = [&](std::string_view mark) {
    return chat_template.find(mark) != std::string_view::npos || has_token(mark);
  };
  if (shown("<mm:think>")) return ReasoningFormat::minimax_m3;
  if (shown("[THINK]")) return ReasoningFormat::think_brackets;
  if (shown("<think>")) return ReasoningFormat::think;
  // Templates that drop the reasoning of earlier turns may only name its end.
  if (shown("</think>")) return ReasoningFormat::think;
  return ReasoningFormat::none;
}

bool ends_with(std::string_view text, std::string_view end) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text.ends_with(end);
}

}  // namespace

AnswerFormat detect_format(std::string_view chat_template,
                           const std::function<bool(std::string_view)>& has_token) {
  AnswerFormat format;
  const Evidence* evidence = call_evidence(chat_template);
  format.calls = evidence ? evidence->calls : by_token(has_token);
  format.reasoning = format.calls == CallFormat::harmony ? ReasoningFormat::harmony
                                                         : reasoning_of(chat_template, has_token);
  return format;
}

bool prompt_opens_reasoning(ReasoningFormat format, std::string_view prompt) {
  switch (format) {
    case ReasoningFormat::none:
    case ReasoningFormat::harmony:
      return false;
    case ReasoningFormat::think:
      return ends_with(prompt, "<think>");
    case ReasoningFormat::think_at_start:
      return !ends_with(prompt, "</think>");
    case ReasoningFormat::think_brackets:
      return ends_with(prompt, "[THINK]");
    case ReasoningFormat::minimax_m3:
      return ends_with(prompt, "<mm:think>");
  }
  return false;
}

bool needs_special_tokens(const AnswerFormat& format) {
  return format != AnswerFormat{};
}

}  // namespace dure
