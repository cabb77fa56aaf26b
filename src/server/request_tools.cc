// The fields of a chat that speak of tools and of reasoning.
#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

Json nullable(const char* type) {
  return {{"anyOf", Json::array({Json{{"type", type}}, Json{{"type", "null"}}})}};
}

// As dialogue/tools.h reads them.
Json tools_schema() {
  const Json function = {{"type", "object"},
                         {"required", {"name"}},
                         {"properties",
                          {{"name", {{"type", "string"}, {"pattern", "^[a-zA-Z0-9_.-]{1,64}$"}}},
                           {"description", nullable("string")},
                           {"parameters", nullable("object")},
                           {"strict", nullable("boolean")}}}};
  return {{"type", "array"},
          {"items",
           {{"type", "object"},
            {"required", {"type", "function"}},
            {"properties", {{"type", {{"const", "function"}}}, {"function", function}}}}}};
}

Json tool_choice_schema() {
  const Json named = {{"type", "object"},
                      {"required", {"type", "function"}},
                      {"properties",
                       {{"type", {{"const", "function"}}},
                        {"function",
                         {{"type", "object"},
                          {"required", {"name"}},
                          {"properties", {{"name", {{"type", "string"}}}}}}}}}};
  return {{"anyOf", Json::array({Json{{"enum", {"none", "auto", "required"}}}, named})}};
}

// How much to think is said to the template, which most models know under a name of their own.
void read_reasoning(Fields& fields, ChatCall& call) {
  const std::optional<std::string> effort =
      fields.choice("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh"});
  call.include_reasoning = fields.boolean("include_reasoning").value_or(true);
  if (!effort) return;
  const std::shared_ptr<const Json>& given = call.conversation.template_arguments;
  Json arguments = given ? *given : Json::object();
  if (!arguments.contains("reasoning_effort")) arguments["reasoning_effort"] = *effort;
  if (*effort == "none" && !arguments.contains("enable_thinking")) {
    arguments["enable_thinking"] = false;
  }
  call.conversation.template_arguments = std::make_shared<const Json>(std::move(arguments));
}

}  // namespace

void read_tool_fields(Fields& fields, ChatCall& call) {
  const Json* tools = fields.find("tools", tools_schema());
  call.tools = read_tools(tools);
  const Json* choice = fields.find("tool_choice", tool_choice_schema());
  call.tool_choice = read_tool_choice(choice, call.tools);
  call.parallel_tool_calls = fields.boolean("parallel_tool_calls").value_or(true);
  // A model that must not call them is not told of them.
  if (!call.tools.empty() && call.tool_choice.kind != ToolChoice::Kind::none) {
    call.conversation.tools = std::make_shared<const Json>(*tools);
  }
  read_reasoning(fields, call);
}

}  // namespace dure
