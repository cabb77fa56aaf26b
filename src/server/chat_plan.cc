// See chat_plan.h.
#include "server/chat_plan.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dialogue/forced_call.h"

namespace dure {
namespace {

// Arguments are an object, also where a tool's schema forgets to say so.
std::string arguments_schema(const Json& parameters) {
  if (parameters.contains("type")) return parameters.dump();
  Json schema = parameters;
  schema["type"] = "object";
  return schema.dump();
}

GrammarSource source_of(const ForcedCalls& calls) {
  GrammarSource source;
  source.kind = GrammarSource::Kind::framed;
  source.field = "tools";
  for (const ForcedCall& call : calls.alternatives) {
    source.frames.push_back({call.prefix, arguments_schema(*call.arguments), call.suffix});
  }
  return source;
}

// The answer proper of gpt-oss stands in a channel of its own.
GrammarSource in_final_channel(GrammarSource source) {
  const bool is_object = source.kind == GrammarSource::Kind::json_object;
  if (!is_object && source.kind != GrammarSource::Kind::json_schema) return source;
  source.frames = {
      {"<|channel|>final<|message|>", is_object ? R"({"type":"object"})" : source.text, ""}};
  source.kind = GrammarSource::Kind::framed;
  return source;
}

}  // namespace

ChatPlan plan_chat(const ChatCall& call, const std::string& prompt, const ServedModel& model) {
  const bool harmony = model.format.calls == CallFormat::harmony;
  const ForcedCalls forced = forced_calls(model.format.calls, call.tools, call.tool_choice);
  const bool is_forced = !forced.alternatives.empty();
  ChatPlan plan;
  AnswerOptions parsing;
  parsing.format = model.format;
  parsing.tools = call.tools;
  if (is_forced) parsing.format.calls = forced.format;
  if (call.tool_choice.kind == ToolChoice::Kind::none && !harmony) {
    parsing.format.calls = CallFormat::none;
  }
  parsing.starts_in_reasoning = prompt_opens_reasoning(model.format.reasoning, prompt);
  if (parsing.format != AnswerFormat{}) plan.reading.parsing = parsing;
  plan.reading.tell_reasoning = call.include_reasoning;
  plan.reading.parallel_calls = call.parallel_tool_calls;
  plan.reading.call_was_named = call.tool_choice.kind == ToolChoice::Kind::named;

  plan.grammar = call.generation.grammar;
  if (is_forced) {
    if (plan.grammar) {
      throw_bad_input("tool_choice demands a call, and " + plan.grammar->field + " another answer",
                      "", plan.grammar->field);
    }
    plan.grammar = source_of(forced);
  } else if (plan.grammar && harmony) {
    plan.grammar = in_final_channel(std::move(*plan.grammar));
  }
  if (plan.grammar && parsing.starts_in_reasoning) plan.reasoning = parsing;
  return plan;
}

}  // namespace dure
