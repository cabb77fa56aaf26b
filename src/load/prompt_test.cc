// Prompts as they are written into requests, and files of them.
#include "load/prompt.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace dure::load {
namespace {

using ::testing::HasSubstr;

Json member(const Prompt& prompt, const PromptStyle& style, uint64_t seed = 1) {
  return parse_json("{" + prompt_member(prompt, style, seed) + "}", "member");
}

TEST(Prompt, IsAsManyIdsOfTheAlphabetAsAsked) {
  PromptStyle style;
  style.alphabet = {40, 41, 42};
  const Json json = member(std::vector<Piece>{{1, 100}, {2, 28}}, style);
  const auto ids = json.at("prompt").get<std::vector<int>>();
  EXPECT_EQ(ids.size(), 128);
  EXPECT_THAT(ids, ::testing::Each(::testing::AllOf(::testing::Ge(40), ::testing::Le(42))));
  EXPECT_THAT(ids, ::testing::Contains(41));
  EXPECT_NE(json, member(std::vector<Piece>{{1, 100}, {2, 28}}, style, 2));
}

TEST(Prompt, BeginsAlikeWherePiecesAreShared) {
  PromptStyle style;
  style.alphabet = {40, 41, 42, 43, 44, 45, 46, 47};
  const auto one =
      member(std::vector<Piece>{{1, 50}, {2, 50}}, style).at("prompt").get<std::vector<int>>();
  const auto two =
      member(std::vector<Piece>{{1, 50}, {3, 50}}, style).at("prompt").get<std::vector<int>>();
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + 50, two.begin()));
  EXPECT_FALSE(std::equal(one.begin() + 50, one.end(), two.begin() + 50));
}

TEST(Prompt, IsWordsWhereTheServerTakesNoIds) {
  PromptStyle style;
  style.tokens_per_word = 2.0;
  const Json json = member(std::vector<Piece>{{1, 100}}, style);
  const auto text = json.at("prompt").get<std::string>();
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 49);
  style.chat = true;
  style.alphabet = {1, 2};  // chats take no ids
  EXPECT_EQ(member(std::vector<Piece>{{1, 100}}, style).at("messages").at(0).at("content"), text);
}

TEST(Prompt, OfAFileIsSentAsItIs) {
  const char* file =
      "{\"prompt\": \"caf\\u00e9 \\\"x\\\"\"}\n"
      "{\"prompt\": [3, 4], \"max_tokens\": 9}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"prompt\": \"other\"}\n";
  const auto prompts = parse_prompts(file, "p", false);
  ASSERT_EQ(prompts.size(), 3);
  EXPECT_EQ(member(prompts[0], {}).at("prompt"), "café \"x\"");
  EXPECT_EQ(member(prompts[1], {}).at("prompt"), Json({3, 4}));
  EXPECT_EQ(prompts[1].output, 9);
  EXPECT_EQ(member(prompts[2], {}).at("prompt"), "other");
  const auto chats = parse_prompts(file, "p", true);
  PromptStyle chat;
  chat.chat = true;
  EXPECT_EQ(member(chats[0], chat).at("messages").at(0).at("content"), "café \"x\"");
  EXPECT_THROW(member(chats[1], chat), Error);  // ids in a chat
  EXPECT_EQ(member(chats[2], chat).at("messages").at(0).at("content"), "hi");
  EXPECT_THROW(member(chats[2], {}), Error);  // a conversation in completions
}

TEST(Prompt, AFileThatIsBrokenIsRefusedWithItsLine) {
  for (const char* bad :
       {"{", "[]", "{}", "{\"prompt\":3}", "{\"prompt\":[]}", "{\"prompt\":[\"a\"]}",
        "{\"messages\":\"x\"}", "{\"messages\":[]}", "{\"prompt\":\"a\",\"output\":0}",
        "{\"prompt\":\"a\",\"output\":\"x\"}", "{\"prompt\":\"a\",\"output\":1e9}", "\xFF"}) {
    try {
      parse_prompts(std::string("{\"prompt\":\"a\"}\n") + bad, "p.jsonl", false);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("p.jsonl line 2")) << bad;
    }
  }
  EXPECT_THROW(parse_prompts("\n", "p.jsonl", false), Error);
}

}  // namespace
}  // namespace dure::load
