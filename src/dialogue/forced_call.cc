// See forced_call.h. The marks are those that the parsers of this folder read.
#include "dialogue/forced_call.h"

#include <nlohmann/json.hpp>

namespace dure {
namespace {

struct Around {
  std::string before_name, behind_name, suffix;
};

CallFormat json_format(CallFormat format) {
  switch (format) {
    case CallFormat::none:
    case CallFormat::qwen3_coder:
    case CallFormat::pythonic:
    case CallFormat::deepseek_dsml:
    case CallFormat::glm:
    case CallFormat::minimax_m2:
      return CallFormat::hermes;
    default:
      return format;
  }
}

Around around(CallFormat format) {
  const std::string object = "{\"name\": \"";
  const std::string arguments = "\", \"arguments\": ";
  switch (format) {
    case CallFormat::llama3_json:
      return {object, "\", \"parameters\": ", "}"};
    case CallFormat::mistral_list:
      return {"[TOOL_CALLS][" + object, arguments, "}]"};
    case CallFormat::mistral_args:
      return {"[TOOL_CALLS]", "[ARGS]", ""};
    case CallFormat::phi4_mini:
      return {"functools[" + object, arguments, "}]"};
    case CallFormat::deepseek_v3:
      return {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n",
              "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"};
    case CallFormat::deepseek_v31:
      return {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
              "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"};
    case CallFormat::kimi_k2:
      return {"<|tool_calls_section_begin|><|tool_call_begin|>functions.",
              ":0<|tool_call_argument_begin|>", "<|tool_call_end|><|tool_calls_section_end|>"};
    case CallFormat::harmony:
      return {"<|channel|>commentary to=functions.", " <|constrain|>json<|message|>", "<|call|>"};
    default:
      return {"<tool_call>\n" + object, arguments, "}\n</tool_call>"};
  }
}

}  // namespace

ForcedCalls forced_calls(CallFormat format, const std::vector<Tool>& tools,
                         const ToolChoice& choice) {
  using Kind = ToolChoice::Kind;
  ForcedCalls forced{.format = json_format(format), .alternatives = {}};
  if (choice.kind != Kind::required && choice.kind != Kind::named) return forced;
  const Around text = around(forced.format);
  const auto anything = std::make_shared<const Json>(Json{{"type", "object"}});
  for (const Tool& tool : tools) {
    if (choice.kind == Kind::named && tool.name != choice.name) continue;
    forced.alternatives.push_back({.tool = tool.name,
                                   .prefix = text.before_name + tool.name + text.behind_name,
                                   .arguments = tool.parameters ? tool.parameters : anything,
                                   .suffix = text.suffix});
  }
  return forced;
}

}  // namespace dure
