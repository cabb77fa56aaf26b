// The request's side: tools, choices, histories, and calls that are forced.
#include "dialogue/tools.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dialogue/forced_call.h"
#include "dialogue/test_answers.h"

namespace dure {
namespace {

using Kind = ToolChoice::Kind;

std::string field_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_THAT(error.message(), testing::StartsWith(error.field()));
    return error.field();
  }
  return "no error";
}

std::vector<Tool> tools_from(const char* json) {
  const Json parsed = Json::parse(json);
  return read_tools(&parsed);
}

const char* two_tools = R"([
  {"type": "function", "function": {"name": "get_weather", "description": "d", "strict": true,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
  {"type": "function", "function": {"name": "now-1.0", "parameters": null}}])";

TEST(Tools, AreRead) {
  const std::vector<Tool> tools = tools_from(two_tools);
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].name, "get_weather");
  EXPECT_TRUE(tools[0].strict);
  EXPECT_EQ((*tools[0].parameters)["properties"]["city"]["type"], "string");
  EXPECT_EQ(tools[1].name, "now-1.0");
  EXPECT_EQ(tools[1].parameters, nullptr);
  EXPECT_TRUE(tools_from("null").empty());
  EXPECT_TRUE(tools_from("[]").empty());
  EXPECT_TRUE(read_tools(nullptr).empty());
}

TEST(Tools, OfAWrongFormAreRefusedByField) {
  const auto refused = [](const char* json) { return field_of([&] { tools_from(json); }); };
  EXPECT_EQ(refused("{}"), "tools");
  EXPECT_EQ(refused("[5]"), "tools[0]");
  EXPECT_EQ(refused("[{}]"), "tools[0].type");
  EXPECT_EQ(refused(R"([{"type": "web_search"}])"), "tools[0].type");
  EXPECT_EQ(refused(R"([{"type": "function"}])"), "tools[0].function");
  EXPECT_EQ(refused(R"([{"type": "function", "function": []}])"), "tools[0].function");
  EXPECT_EQ(refused(R"([{"type": "function", "function": {}}])"), "tools[0].function.name");
  for (const std::string& name : {std::string(), std::string("a b"), std::string("é"),
                                  std::string("a\nb"), std::string(65, 'a')}) {
    const Json tool = {{"type", "function"}, {"function", {{"name", name}}}};
    const Json tools = Json::array({tool});
    EXPECT_EQ(field_of([&] { read_tools(&tools); }), "tools[0].function.name") << name;
  }
  EXPECT_EQ(refused(R"([{"type": "function", "function": {"name": "f"}},
                        {"type": "function", "function": {"name": "f"}}])"),
            "tools[1].function.name");
  EXPECT_EQ(refused(R"([{"type": "function", "function": {"name": "f", "parameters": []}}])"),
            "tools[0].function.parameters");
  EXPECT_EQ(refused(R"([{"type": "function", "function": {"name": "f", "strict": 1}}])"),
            "tools[0].function.strict");
  EXPECT_EQ(refused(R"([{"type": "function", "function": {"name": "f", "description": 1}}])"),
            "tools[0].function.description");
}

TEST(ToolChoices, AreRead) {
  const std::vector<Tool> tools = tools_from(two_tools);
  const auto kind = [](const char* json, const std::vector<Tool>& with) {
    const Json choice = Json::parse(json);
    return read_tool_choice(&choice, with).kind;
  };
  EXPECT_EQ(read_tool_choice(nullptr, tools).kind, Kind::automatic);
  EXPECT_EQ(read_tool_choice(nullptr, {}).kind, Kind::none);
  EXPECT_EQ(kind("null", tools), Kind::automatic);
  EXPECT_EQ(kind("\"auto\"", tools), Kind::automatic);
  EXPECT_EQ(kind("\"auto\"", {}), Kind::none);
  EXPECT_EQ(kind("\"none\"", tools), Kind::none);
  EXPECT_EQ(kind("\"required\"", tools), Kind::required);
  const Json named = Json::parse(R"({"type": "function", "function": {"name": "now-1.0"}})");
  EXPECT_EQ(read_tool_choice(&named, tools).kind, Kind::named);
  EXPECT_EQ(read_tool_choice(&named, tools).name, "now-1.0");
}

TEST(ToolChoices, ThatCannotBeMetAreRefused) {
  const std::vector<Tool> tools = tools_from(two_tools);
  const auto refused = [](const char* json, const std::vector<Tool>& with) {
    const Json choice = Json::parse(json);
    return field_of([&] { read_tool_choice(&choice, with); });
  };
  EXPECT_EQ(refused("\"required\"", {}), "tool_choice");
  EXPECT_EQ(refused("\"always\"", tools), "tool_choice");
  EXPECT_EQ(refused("5", tools), "tool_choice");
  EXPECT_EQ(refused(R"({"type": "function", "function": {"name": "g"}})", tools), "tool_choice");
  EXPECT_EQ(refused(R"({"type": "allowed_tools"})", tools), "tool_choice.type");
  EXPECT_EQ(refused(R"({"type": "function", "function": {}})", tools), "tool_choice.function.name");
}

TEST(History, OfTheFormsThatClientsSendIsTaken) {
  EXPECT_NO_THROW(check_history(Json::parse(R"([
    {"role": "user", "content": "w?"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
      {"function": {"name": "g", "arguments": {"a": 1}}},
      {"id": null, "function": {"name": "h", "arguments": null}},
      {"id": "4", "function": {"name": "i", "arguments": "no json {"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    {"role": "assistant", "content": "It is.", "tool_calls": []},
    {"role": "assistant", "content": "It is.", "tool_calls": null}])")));
}

TEST(History, OfAWrongFormIsRefusedByField) {
  const auto refused = [](const char* message) {
    const Json messages = Json::array({Json::parse(message)});
    return field_of([&] { check_history(messages); });
  };
  EXPECT_EQ(refused("5"), "messages[0]");
  EXPECT_EQ(refused(R"({"tool_calls": {}})"), "messages[0].tool_calls");
  EXPECT_EQ(refused(R"({"tool_calls": ["x"]})"), "messages[0].tool_calls[0]");
  EXPECT_EQ(refused(R"({"tool_calls": [{}]})"), "messages[0].tool_calls[0].function");
  EXPECT_EQ(refused(R"({"tool_calls": [{"function": {}}]})"),
            "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(refused(R"({"tool_calls": [{"function": {"name": ""}}]})"),
            "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(refused(R"({"tool_calls": [{"function": {"name": "f", "arguments": [1]}}]})"),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(refused(R"({"tool_calls": [{"id": 5, "function": {"name": "f"}}]})"),
            "messages[0].tool_calls[0].id");
  EXPECT_EQ(refused(R"({"role": "tool", "tool_call_id": 5})"), "messages[0].tool_call_id");
  EXPECT_EQ(field_of([] { check_history(Json::object()); }), "messages");
}

TEST(ForcedCalls, AreReadBackByTheParserThatTheyName) {
  const std::vector<Tool> tools = tools_from(two_tools);
  for (const std::string_view name : call_format_names()) {
    const CallFormat format = call_format(name);
    const ForcedCalls forced = forced_calls(format, tools, {Kind::required, ""});
    ASSERT_EQ(forced.alternatives.size(), 2u) << name;
    for (const ForcedCall& call : forced.alternatives) {
      ASSERT_NE(call.arguments, nullptr);
      const std::string arguments = "{\"city\": \"서\\\"울\"}";
      EXPECT_EQ(read_every_way(options_of(forced.format), call.prefix + arguments + call.suffix),
                (Told{"", "", {{call.tool, arguments}}}))
          << name;
    }
  }
}

TEST(ForcedCalls, HoldTheModelToTheNamedTool) {
  const std::vector<Tool> tools = tools_from(two_tools);
  const ForcedCalls forced = forced_calls(CallFormat::hermes, tools, {Kind::named, "get_weather"});
  ASSERT_EQ(forced.alternatives.size(), 1u);
  EXPECT_EQ(forced.alternatives[0].prefix,
            "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": ");
  EXPECT_EQ(*forced.alternatives[0].arguments, *tools[0].parameters);
  EXPECT_EQ(forced.alternatives[0].suffix, "}\n</tool_call>");
  EXPECT_TRUE(forced_calls(CallFormat::hermes, tools, {Kind::automatic, ""}).alternatives.empty());
  const ForcedCalls other = forced_calls(CallFormat::hermes, tools, {Kind::named, "now-1.0"});
  EXPECT_EQ(*other.alternatives[0].arguments, Json({{"type", "object"}}));
}

}  // namespace
}  // namespace dure
