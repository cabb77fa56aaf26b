// Chat templates of many families against recorded prompts, and what the server's form does to
// messages.
#include "text/chat_template.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/golden.h"
#include "text/golden_rows.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const fs::path source_dir = DURE_SOURCE_DIR;
const fs::path recorded = source_dir / "testdata" / "text";

std::shared_ptr<const ChatTemplate> parse(std::string_view source) {
  return ChatTemplate::parse(source, Json::object(), "test");
}

std::string render(const ChatTemplate& chat, const Json& messages) {
  return chat.render({.messages = &messages});
}

Error error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::failed, "none");
}

void expect_all_pass(const std::vector<GoldenKind>& kinds, size_t least) {
  EXPECT_GE(kinds.size(), least);
  for (const GoldenKind& kind : kinds) {
    EXPECT_EQ(kind.failed, 0) << kind.name << ": "
                              << (kind.failures.empty() ? "" : kind.failures[0]);
    EXPECT_GT(kind.passed, 0) << kind.name;
  }
}

TEST(ChatTemplate, RendersEveryRecordedConversation) {
  const fs::path whole = source_dir / ".." / "shared" / "data";
  const bool all = fs::exists(whole / "golden" / "text" / "jinja.jsonl");
  std::printf("recorded prompts: %s\n", all ? "the whole set" : "testdata/text");
  if (all) {
    expect_all_pass(run_template_goldens(whole / "tokenizers", whole / "golden" / "text"), 31);
  }
  expect_all_pass(run_template_goldens(recorded / "tokenizers", recorded), 31);
}

const Json call_with_text = Json::parse(R"([{"role": "user", "content": "w?"},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "abcdefgh1", "type": "function",
   "function": {"name": "weather", "arguments": "{\"city\": \"도시\", \"n\": 1e3}"}}]}])");
const Json call_with_object = Json::parse(R"([{"role": "user", "content": "w?"},
  {"role": "assistant", "tool_calls": [{"id": "abcdefgh1", "type": "function",
   "function": {"name": "weather", "arguments": {"city": "도시", "n": 1000.0}}}]}])");

TEST(ChatTemplate, FeedsBothKindsOfTemplateTheArgumentsTheyWant) {
  const std::string head =
      "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}";
  const std::string tail = "{% endfor %}{% endif %}{% endfor %}";
  const auto objects = parse(head +
                             "{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
                             "<{{ k }}={{ v }}>{% endfor %}" +
                             tail);
  const auto texts =
      parse(head + "{{ c.function.name + '(' + c.function.arguments + ')' }}" + tail);
  const auto either =
      parse(head +
            "{{ c.function.name }}{% if c.function.arguments is string %}"
            "{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}"
            "{% endif %}" +
            tail);
  for (const Json& messages : {call_with_text, call_with_object}) {
    EXPECT_EQ(render(*objects, messages), "weather<city=도시><n=1000.0>");
    EXPECT_EQ(render(*either, messages), "weather{\"city\": \"도시\", \"n\": 1000.0}");
  }
  // Text that a client sent goes through as it is.
  EXPECT_EQ(render(*texts, call_with_text), "weather({\"city\": \"도시\", \"n\": 1e3})");
  EXPECT_EQ(render(*texts, call_with_object), "weather({\"city\": \"도시\", \"n\": 1000.0})");
  EXPECT_TRUE(texts->tool_call_form().text_arguments);
  EXPECT_FALSE(objects->tool_call_form().text_arguments);
  EXPECT_FALSE(either->tool_call_form().text_arguments);
}

std::shared_ptr<const ChatTemplate> released(const std::string& name) {
  std::ifstream file(recorded / "templates" / (name + ".jinja"), std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  return ChatTemplate::parse(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, name);
}

TEST(ChatTemplate, GivesMistralTheIdsItInsistsOn) {
  const auto chat = released("mistral-nemo-v3-tekken");
  EXPECT_TRUE(chat->tool_call_form().short_ids);
  EXPECT_FALSE(released("mistral-v0.3-tool")->tool_call_form().short_ids);
  EXPECT_FALSE(released("kimi-k2")->tool_call_form().short_ids);
  Json messages = call_with_text;
  EXPECT_THAT(render(*chat, messages), HasSubstr("\"id\": \"abcdefgh1\""));
  // An id of another server: the call and its result still belong together.
  messages[1]["tool_calls"][0]["id"] = "call_0123456789abcdef";
  messages.push_back(
      {{"role", "tool"}, {"tool_call_id", "call_0123456789abcdef"}, {"content", "sunny"}});
  const std::string prompt = render(*chat, messages);
  const size_t id = prompt.find("\"id\": \"") + 7;
  ASSERT_LT(id, prompt.size());
  EXPECT_EQ(prompt.substr(id + 9, 2), "\"}");
  EXPECT_THAT(prompt, HasSubstr("\"call_id\": \"" + prompt.substr(id, 9) + "\""));
}

TEST(ChatTemplate, ShowsArgumentsAsJsonToTemplatesThatPrintThem) {
  const auto chat = released("phi-4-mini");
  EXPECT_TRUE(chat->tool_call_form().text_arguments);
  for (const Json& messages : {call_with_text, call_with_object}) {
    EXPECT_THAT(render(*chat, messages), HasSubstr("\"arguments\": {\"city\": \"도시\", \"n\""));
  }
}

TEST(ChatTemplate, TakesCallsWithoutArguments) {
  for (const char* name : {"qwen2.5-instruct", "qwen3-coder", "glm-4.6", "kimi-k2", "phi-4-mini"}) {
    const auto chat = released(name);
    Json messages = call_with_text;
    Json& function = messages[1]["tool_calls"][0]["function"];
    function["arguments"] = "{}";
    const std::string wanted = render(*chat, messages);
    function["arguments"] = nullptr;
    EXPECT_EQ(render(*chat, messages), wanted) << name;
    function["arguments"] = "";
    EXPECT_EQ(render(*chat, messages), wanted) << name;
    function.erase("arguments");
    EXPECT_EQ(render(*chat, messages), wanted) << name;
  }
}

TEST(ChatTemplate, ShowsToolCallsToDeepSeekV3InTheOneFormItTakes) {
  const auto chat = ChatTemplate::load(recorded / "tokenizers" / "deepseek_v3");
  EXPECT_TRUE(chat->tool_call_form().null_content);
  EXPECT_TRUE(chat->tool_call_form().text_arguments);
  for (Json messages : {call_with_text, call_with_object}) {
    EXPECT_THAT(render(*chat, messages), HasSubstr("weather\n```json\n{\"city\": \"도시\", "));
    messages[1]["content"] = "";
    EXPECT_THAT(render(*chat, messages), HasSubstr("weather"));
  }
}

TEST(ChatTemplate, LoadsTemplateAndSpecialTokensOfACheckpoint) {
  for (const char* name : {"qwen3", "llama3", "gemma3"}) {
    const auto chat = ChatTemplate::load(recorded / "tokenizers" / name);
    // The other two know nothing of tool calls.
    EXPECT_EQ(chat->tool_call_form().works, std::string(name) == "qwen3") << name;
    const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"}])");
    EXPECT_THAT(render(*chat, messages), HasSubstr("Hi")) << name;
  }
  const auto llama = ChatTemplate::load(recorded / "tokenizers" / "llama3");
  const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"}])");
  EXPECT_THAT(render(*llama, messages), StartsWith("<|begin_of_text|>"));
}

TEST(ChatTemplate, PicksTheToolTemplateOnlyForRequestsWithTools) {
  const fs::path folder = fs::path(testing::TempDir()) / "named_templates";
  fs::create_directories(folder);
  std::ofstream(folder / "tokenizer_config.json") << R"({"bos_token": {"content": "<s>"},
    "chat_template": [{"name": "default", "template": "{{ bos_token }}plain"},
                      {"name": "tool_use", "template": "with {{ tools | length }}"}]})";
  const auto chat = ChatTemplate::load(folder);
  const Json messages = Json::array(), tools = Json::array({Json::object()}), none = Json::array();
  EXPECT_EQ(chat->render({.messages = &messages}), "<s>plain");
  EXPECT_EQ(chat->render({.messages = &messages, .tools = &none}), "<s>plain");
  EXPECT_EQ(chat->render({.messages = &messages, .tools = &tools}), "with 1");
  fs::remove_all(folder);
}

TEST(ChatTemplate, WaitsForNoPipeInPlaceOfAFile) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("dure-template-{}", getpid());
  fs::create_directories(folder);
  ASSERT_EQ(mkfifo((folder / "chat_template.jinja").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { ChatTemplate::load(folder); }).message(),
              HasSubstr("chat_template.jinja: not a regular file"));
  fs::remove(folder / "chat_template.jinja");
  std::ofstream(folder / "tokenizer_config.json") << "[]";
  EXPECT_THAT(error_of([&] { ChatTemplate::load(folder); }).message(),
              HasSubstr("tokenizer_config.json: not a JSON object"));
  fs::remove_all(folder);
}

TEST(ChatTemplate, RefusesAtLoadWhatItCannotRender) {
  const Error damaged = error_of([] { parse("a\n{% if x %}"); });
  EXPECT_EQ(damaged.code(), ErrorCode::bad_input);
  EXPECT_THAT(damaged.message(), HasSubstr("test, line 2"));
  const Error refused = error_of([] { parse("{% import 'x' as y %}"); });
  EXPECT_THAT(refused.message(), HasSubstr("the tag 'import'"));
  const Error absent = error_of([] { ChatTemplate::load(recorded / "templates"); });
  EXPECT_THAT(absent.message(), HasSubstr("no chat template"));
}

TEST(ChatTemplate, PassesTheTemplatesOwnWordsToTheClient) {
  const auto chat = parse(
      "{% if messages[0].role != 'user' %}{{ raise_exception('User first: ' ~ "
      "messages[0].role) }}{% endif %}");
  const Error error =
      error_of([&] { render(*chat, Json::parse(R"([{"role": "tool", "content": ""}])")); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  EXPECT_EQ(error.message(), "User first: tool");
  EXPECT_EQ(error.field(), "messages");
}

TEST(ChatTemplate, RefusesRequestsOfTheWrongForm) {
  const auto chat = parse("x");
  for (const char* messages : {"null", "{}", "\"hi\"", "[1]", "[[]]"}) {
    const Json json = Json::parse(messages);
    EXPECT_THAT(error_of([&] { render(*chat, json); }).field(), StartsWith("messages")) << messages;
  }
  const Json none = Json::array(), number = 1;
  EXPECT_EQ(error_of([&] { chat->render({.messages = &none, .tools = &number}); }).field(),
            "tools");
  EXPECT_EQ(error_of([&] { chat->render({.messages = &none, .extra = &number}); }).field(),
            "chat_template_kwargs");
  EXPECT_EQ(
      error_of([&] { chat->render({.messages = &none, .continue_final_message = true}); }).field(),
      "continue_final_message");
}

TEST(ChatTemplate, ContinuesTheLastMessageOrSaysWhyNot) {
  const auto plain = parse("{% for m in messages %}<{{ m.content }}>{% endfor %}");
  const auto trims = parse("{% for m in messages %}<{{ m.content | trim }}>{% endfor %}");
  const auto drops = parse("{% for m in messages[:-1] %}<{{ m.content }}>{% endfor %}");
  const Json messages = Json::parse(R"([{"role": "user", "content": "a"},
                                        {"role": "assistant", "content": "b "}])");
  ChatRequest request{
      .messages = &messages, .add_generation_prompt = false, .continue_final_message = true};
  EXPECT_EQ(plain->render(request), "<a><b ");
  EXPECT_EQ(trims->render(request), "<a><b");
  EXPECT_THAT(error_of([&] { drops->render(request); }).message(), HasSubstr("continue"));
  const Json nothing = Json::array();
  request.messages = &nothing;
  EXPECT_THAT(error_of([&] { plain->render(request); }).message(), HasSubstr("continue"));
}

TEST(ChatTemplate, ExtraVariablesReachTheTemplateAndLeaveTheRestAlone) {
  const auto chat = parse("{{ enable_thinking }}{{ tools is none }}{{ documents is none }}");
  const Json messages = Json::array(), extra = {{"enable_thinking", false}};
  EXPECT_EQ(chat->render({.messages = &messages, .extra = &extra}), "FalseTrueTrue");
}

TEST(ChatTemplate, JoinsTextPartsAndLeavesOtherPartsToTheTemplate) {
  const auto chat = parse("{{ messages[0].content }}");
  EXPECT_EQ(
      render(*chat, Json::parse(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                                          {"type": "text", "text": "b"}]}])")),
      "a\nb");
  EXPECT_EQ(render(*chat, Json::parse(R"([{"role": "user", "content": []}])")), "");
  EXPECT_EQ(render(*chat, Json::parse(R"([{"role": "user", "content": [{"type": "image"}]}])")),
            "[{'type': 'image'}]");
}

TEST(ChatTemplate, RendersLongConversationsInLinearWork) {
  // The step budget bounds the work, so that passing means no quadratic growth: 4 MB in 4000
  // messages.
  const auto chat = ChatTemplate::load(recorded / "tokenizers" / "qwen3");
  Json messages = Json::array();
  const std::string text(1000, 'x');
  for (int i = 0; i < 2000; ++i) {
    messages.push_back({{"role", "user"}, {"content", text}});
    messages.push_back({{"role", "assistant"}, {"content", text}});
  }
  EXPECT_GT(render(*chat, messages).size(), 4000u * 1000u);
}

}  // namespace
}  // namespace dure
