// Formats found out from the chat templates of released models, and a call that each of them writes
// read back.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "dialogue/test_answers.h"
#include "text/chat_template.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

const fs::path templates = fs::path(DURE_SOURCE_DIR) / "testdata" / "text" / "templates";

std::string text_of(const std::string& name) {
  std::ifstream file(templates / (name + ".jinja"), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool no_tokens(std::string_view) {
  return false;
}

const std::map<std::string, AnswerFormat> expected = {
    {"command-r-plus-tool-use", {CallFormat::none, ReasoningFormat::none}},
    {"deepseek-r1-distill", {CallFormat::deepseek_v3, ReasoningFormat::think}},
    {"deepseek-v3.1", {CallFormat::deepseek_v31, ReasoningFormat::think}},
    {"deepseek-v3.2", {CallFormat::deepseek_dsml, ReasoningFormat::think}},
    {"deepseek-v4", {CallFormat::deepseek_dsml, ReasoningFormat::think}},
    {"gemma-2", {CallFormat::none, ReasoningFormat::none}},
    {"gemma-4", {CallFormat::none, ReasoningFormat::none}},
    {"glm-4.6", {CallFormat::glm, ReasoningFormat::think}},
    {"glm-4.7-flash", {CallFormat::glm, ReasoningFormat::think}},
    {"gpt-oss", {CallFormat::harmony, ReasoningFormat::harmony}},
    {"hermes-3-tool-use", {CallFormat::hermes, ReasoningFormat::none}},
    {"kimi-k2", {CallFormat::kimi_k2, ReasoningFormat::none}},
    {"kimi-k3", {CallFormat::none, ReasoningFormat::none}},
    {"llama-3.1-instruct", {CallFormat::llama3_json, ReasoningFormat::none}},
    {"llama-4-pythonic", {CallFormat::pythonic, ReasoningFormat::none}},
    {"minimax-m2", {CallFormat::minimax_m2, ReasoningFormat::think}},
    {"minimax-m3", {CallFormat::none, ReasoningFormat::minimax_m3}},
    {"mistral-nemo-v3-tekken", {CallFormat::mistral_list, ReasoningFormat::none}},
    {"mistral-small-3.2-v7-tekken", {CallFormat::mistral_args, ReasoningFormat::none}},
    {"mistral-v0.3-tool", {CallFormat::mistral_list, ReasoningFormat::none}},
    {"nemotron-3-nano", {CallFormat::qwen3_coder, ReasoningFormat::think}},
    {"phi-4-mini", {CallFormat::phi4_mini, ReasoningFormat::none}},
    {"qwen2.5-instruct", {CallFormat::hermes, ReasoningFormat::none}},
    {"qwen3-coder", {CallFormat::qwen3_coder, ReasoningFormat::none}},
    {"qwen3.5", {CallFormat::qwen3_coder, ReasoningFormat::think}},
};

TEST(DetectFormat, KnowsTheTemplatesOfReleasedModels) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(templates)) {
    if (entry.path().extension() != ".jinja") continue;
    const std::string name = entry.path().stem().string();
    ASSERT_TRUE(expected.contains(name)) << name;
    const AnswerFormat found = detect_format(text_of(name), no_tokens);
    EXPECT_EQ(to_string(found.calls), to_string(expected.at(name).calls)) << name;
    EXPECT_EQ(to_string(found.reasoning), to_string(expected.at(name).reasoning)) << name;
    ++files;
  }
  EXPECT_EQ(files, static_cast<int>(expected.size()));
}

TEST(DetectFormat, AsksTheTokensWhereTheTemplateSaysNothing) {
  const auto format = [](std::set<std::string_view> tokens) {
    return detect_format("{{ messages }}",
                         [tokens](std::string_view text) { return tokens.contains(text); });
  };
  EXPECT_EQ(format({}), AnswerFormat{});
  EXPECT_EQ(format({"<think>"}), (AnswerFormat{CallFormat::none, ReasoningFormat::think}));
  EXPECT_EQ(format({"<|channel|>"}), (AnswerFormat{CallFormat::harmony, ReasoningFormat::harmony}));
  EXPECT_EQ(format({"[TOOL_CALLS]", "[THINK]"}),
            (AnswerFormat{CallFormat::mistral_list, ReasoningFormat::think_brackets}));
  EXPECT_TRUE(needs_special_tokens(format({"<think>"})));
  EXPECT_FALSE(needs_special_tokens(format({})));
}

// What comes behind the user's message when a model called a tool.
std::string rendered_call(const std::string& name, const Json& arguments) {
  const Json index = read_json_file(templates / "index.json");
  const auto chat = ChatTemplate::parse(text_of(name), index.at(name).at("special_tokens"), name);
  const Json call = {{"id", "abcdefgh1"},
                     {"type", "function"},
                     {"function", {{"name", "get_weather"}, {"arguments", arguments}}}};
  const Json messages =
      Json::array({{{"role", "user"}, {"content", "QUESTION"}},
                   {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}},
                   {{"role", "tool"}, {"tool_call_id", "abcdefgh1"}, {"content", "ANSWER"}}});
  const Json tools = parse_json(
      R"([{"type": "function", "function": {"name": "get_weather", "description": "d",
         "parameters": {"type": "object", "properties": {"city": {"type": "string",
         "description": "d"}, "days": {"type": "integer", "description": "d"}}, "required": []}}}])",
      "test");
  std::tm day{};
  day.tm_mday = 1;
  day.tm_year = 126;
  const Json variables = {{"today", "2026-01-01"}, {"enable_thinking", true}};
  const std::string prompt = chat->render({.messages = &messages,
                                           .tools = &tools,
                                           .extra = &variables,
                                           .add_generation_prompt = false,
                                           .now = day});
  return prompt.substr(prompt.rfind("QUESTION") + 8);
}

TEST(DetectFormat, ReadsTheCallsThatTheTemplatesWrite) {
  for (const auto& [name, format] : expected) {
    if (format.calls == CallFormat::none) continue;
    // Its calls of the past look otherwise than the model is told to write them.
    if (name == "phi-4-mini") continue;
    const Json arguments = {{"city", "서울 \"x\""}, {"days", 3}};
    std::string answer = rendered_call(name, arguments);
    if (format.calls == CallFormat::harmony) {
      answer = answer.substr(answer.find("<|start|>assistant") + 18);
    }
    AnswerOptions options = options_of(format.calls, format.reasoning);
    options.tools = {
        tool_with("get_weather", R"({"city": {"type": "string"}, "days": {"type": "integer"}})")};
    const Told told = read_every_way(options, answer);
    ASSERT_EQ(told.calls.size(), 1u) << name << ": " << answer;
    EXPECT_EQ(told.calls[0].name, "get_weather") << name;
    if (name == "llama-4-pythonic") continue;  // which quotes nothing in what it quotes
    EXPECT_EQ(Json::parse(told.calls[0].arguments), arguments) << name;
  }
}

TEST(Formats, HaveTheNamesThatUsersKnow) {
  for (const std::string_view name : call_format_names()) EXPECT_NO_THROW(call_format(name));
  EXPECT_EQ(call_format("glm47"), CallFormat::glm);
  EXPECT_EQ(to_string(CallFormat::glm), "glm45");
  EXPECT_EQ(reasoning_format("deepseek_r1"), ReasoningFormat::think_at_start);
  EXPECT_EQ(reasoning_format_names().front(), "none");
  try {
    call_format("hermess");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "--tool-parser");
    EXPECT_NE(error.hint().find("hermes"), std::string::npos);
  }
}

TEST(Formats, SeeWhetherThePromptOpenedTheReasoning) {
  EXPECT_TRUE(prompt_opens_reasoning(ReasoningFormat::think, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(
      prompt_opens_reasoning(ReasoningFormat::think, "assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(prompt_opens_reasoning(ReasoningFormat::think, "say <think>\nassistant\n"));
  EXPECT_TRUE(prompt_opens_reasoning(ReasoningFormat::think_at_start, "<｜Assistant｜>"));
  EXPECT_FALSE(prompt_opens_reasoning(ReasoningFormat::think_at_start, "<think>\n</think>"));
  EXPECT_TRUE(prompt_opens_reasoning(ReasoningFormat::think_brackets, "[THINK]"));
  EXPECT_FALSE(prompt_opens_reasoning(ReasoningFormat::none, "<think>"));
}

}  // namespace
}  // namespace dure
