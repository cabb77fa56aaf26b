// Tool calls and reasoning in chats: shapes, streams, reasons, and calls that are demanded.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr AnswerFormat hermes{CallFormat::hermes, ReasoningFormat::think};
constexpr const char* call_text =
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": {\"b\": 1}}}\n</tool_call>";
constexpr const char* tool_f =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
// Whose only arguments are {"s": "x"}, up to white space.
constexpr const char* tool_g =
    R"("tools":[{"type":"function","function":{"name":"g","parameters":{"properties":{"s":{"const":"x"}},"required":["s"],"additionalProperties":false}}}])";

std::string chat_with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

Json choice_of(TestServer& server, const std::string& fields) {
  const TestResponse response = server.ask("POST", "/v1/chat/completions", chat_with(fields));
  EXPECT_EQ(response.status, 200) << response.body;
  return Json::parse(response.body)["choices"][0];
}

TEST(ToolCalls, AreToldWithTheirArgumentsAndReason) {
  TestServer server({.answer = call_text, .format = hermes});
  const Json choice = choice_of(server, tool_f);
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_TRUE(choice["message"]["content"].is_null());
  const Json call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["function"]["name"], "f");
  EXPECT_EQ(call["function"]["arguments"], R"({"a": {"b": 1}})");
  EXPECT_FALSE(call["id"].get<std::string>().empty());
}

TEST(ToolCalls, StreamWithIdAndNameOnce) {
  TestServer server({.answer = std::string("Well: ") + call_text, .format = hermes});
  const TestResponse response = server.ask("POST", "/v1/chat/completions",
                                           chat_with(std::string(tool_f) + R"(,"stream":true)"));
  std::string arguments, content, reason;
  int ids = 0, names = 0;
  for (const std::string& data : response.events()) {
    if (data == "[DONE]") continue;
    const Json choice = Json::parse(data)["choices"][0];
    if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
    content += choice["delta"].value("content", "");
    if (!choice["delta"].contains("tool_calls")) continue;
    const Json call = choice["delta"]["tool_calls"][0];
    EXPECT_EQ(call["index"], 0);
    ids += call.contains("id") ? 1 : 0;
    names += call["function"].contains("name") ? 1 : 0;
    EXPECT_EQ(ids, 1);  // from the first piece on
    arguments += call["function"].value("arguments", "");
  }
  EXPECT_EQ(arguments, R"({"a": {"b": 1}})");
  EXPECT_EQ(content, "Well:");
  EXPECT_EQ(names, 1);
  EXPECT_EQ(reason, "tool_calls");
}

TEST(ToolCalls, AreTextWhereTheClientWantsNone) {
  TestServer server({.answer = call_text, .format = hermes});
  for (const std::string& fields :
       {std::string(R"("n":1)"), tool_f + std::string(R"(,"tool_choice":"none")")}) {
    const Json choice = choice_of(server, fields);
    EXPECT_EQ(choice["message"]["content"], call_text);
    EXPECT_EQ(choice["finish_reason"], "stop");
  }
}

TEST(ToolCalls, AreMadeWhereTheyAreDemandedWhateverTheModelWants) {
  TestServer server({.answer = "I would rather not"});  // a model without a format of its own
  for (const auto& [tool_choice, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"("required")", "tool_calls"},
           {R"({"type":"function","function":{"name":"g"}})", "stop"}}) {
    const Json choice =
        choice_of(server, fmt::format(R"({},"tool_choice":{})", tool_g, tool_choice));
    EXPECT_EQ(choice["finish_reason"], reason);
    const Json call = choice["message"]["tool_calls"][0]["function"];
    EXPECT_EQ(call["name"], "g");
    EXPECT_EQ(Json::parse(call["arguments"].get<std::string>()), Json({{"s", "x"}}));
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST(ToolCalls, AreDemandedBehindTheReasoningThatThePromptOpened) {
  TestServer server({.answer = "let me think</think>never mind",
                     .format = {CallFormat::hermes, ReasoningFormat::think_at_start}});
  const Json choice = choice_of(server, std::string(tool_g) + R"(,"tool_choice":"required")");
  EXPECT_EQ(choice["message"]["reasoning_content"], "let me think");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "g");
}

TEST(ToolCalls, AreCutByLengthWithThatReason) {
  TestServer server({.answer = call_text, .format = hermes});
  const auto most = static_cast<int>(server.ranks.script.size()) - 8;
  const Json choice = choice_of(server, fmt::format(R"({},"max_tokens":{})", tool_f, most));
  EXPECT_EQ(choice["finish_reason"], "length");
}

TEST(ToolCalls, AreOneWhereTheClientWantsNoMore) {
  TestServer server({.answer = std::string(call_text) + "\n" + call_text, .format = hermes});
  EXPECT_EQ(choice_of(server, tool_f)["message"]["tool_calls"].size(), 2u);
  const Json one = choice_of(server, std::string(tool_f) + R"(,"parallel_tool_calls":false)");
  EXPECT_EQ(one["message"]["tool_calls"].size(), 1u);
}

TEST(ToolCalls, InAHistoryTakeEveryFormThatClientsSend) {
  TestServer server;
  for (
      const char* message :
      {R"({"role":"assistant","content":"x","tool_calls":[]})",
       R"({"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]})",
       R"({"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"a":1}}}]})",
       R"({"role":"tool","tool_call_id":"1","content":"3"})"}) {
    const TestResponse response =
        server.ask("POST", "/v1/chat/completions",
                   fmt::format(R"({{"messages":[{{"role":"user","content":"x"}},{}]}})", message));
    EXPECT_EQ(response.status, 200) << message << response.body;
  }
}

TEST(ToolCalls, AreRefusedNamingTheFieldAtFault) {
  TestServer server;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tools":[{"type":"function"}])", "tools[0].function"},
      {R"("tools":[{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name"},
      {std::string(tool_f) + R"(,"tool_choice":{"type":"function","function":{"name":"h"}})",
       "tool_choice"},
      {std::string(tool_f) + R"(,"tool_choice":"required","guided_regex":"a")", "guided_regex"},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":{"not":{}}}}],"tool_choice":"required")",
       "tools"},
      {R"("reasoning_effort":"extreme")", "reasoning_effort"},
      {R"("functions":[{"name":"f"}])", "functions"},
  };
  for (const auto& [fields, expected] : cases) {
    const TestResponse response = server.ask("POST", "/v1/chat/completions", chat_with(fields));
    EXPECT_EQ(response.status, 400) << fields;
    EXPECT_EQ(Json::parse(response.body)["error"]["param"], expected) << response.body;
  }
}

TEST(Reasoning, IsToldBesideTheContent) {
  TestServer server({.answer = "<think>\nhm é\n</think>\n\nhello", .format = hermes});
  const Json message = choice_of(server, R"("n":1)")["message"];
  EXPECT_THAT(message["reasoning_content"].get<std::string>(), HasSubstr("hm é"));
  EXPECT_EQ(message["content"], "hello");

  const TestResponse response =
      server.ask("POST", "/v1/chat/completions", chat_with(R"("stream":true)"));
  std::string reasoning, content;
  for (const std::string& data : response.events()) {
    if (data == "[DONE]") continue;
    const Json delta = Json::parse(data)["choices"][0]["delta"];
    reasoning += delta.value("reasoning_content", "");
    content += delta.value("content", "");
  }
  EXPECT_EQ(reasoning, message["reasoning_content"]);
  EXPECT_EQ(content, "hello");

  const Json without = choice_of(server, R"("include_reasoning":false)")["message"];
  EXPECT_FALSE(without.contains("reasoning_content"));
  EXPECT_EQ(without["content"], "hello");
}

}  // namespace
}  // namespace dure
