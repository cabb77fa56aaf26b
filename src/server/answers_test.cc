// Answers in every form that requests can ask for: several choices, log-probabilities, echo, usage.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string chat_with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

Json ask(TestServer& server, const char* path, const std::string& body) {
  const TestResponse response = server.ask("POST", path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  return Json::parse(response.body);
}

Json chat(TestServer& server, const std::string& fields) {
  return ask(server, "/v1/chat/completions", chat_with(fields));
}

Json complete(TestServer& server, const std::string& fields) {
  return ask(server, "/v1/completions", "{" + fields + "}");
}

std::vector<Json> stream_of(TestServer& server, const char* path, const std::string& body) {
  const TestResponse response = server.ask("POST", path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  std::vector<Json> chunks;
  for (const std::string& data : response.events()) {
    if (data != "[DONE]") chunks.push_back(Json::parse(data));
  }
  return chunks;
}

TEST(Answers, HaveAsManyChoicesAsAskedForAndCountThePromptOnce) {
  TestServer server;
  const Json one = chat(server, R"("seed":5)");
  const Json three = chat(server, R"("seed":5,"n":3)");
  ASSERT_EQ(three["choices"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(three["choices"][i]["index"], i);
    EXPECT_EQ(three["choices"][i]["message"]["content"], "one two three");
  }
  EXPECT_EQ(three["usage"]["prompt_tokens"], one["usage"]["prompt_tokens"]);
  EXPECT_EQ(three["usage"]["completion_tokens"],
            3 * one["usage"]["completion_tokens"].get<int64_t>());

  std::set<uint64_t> seeds;
  for (const SequenceSetup& setup : server.ranks.setups()) seeds.insert(setup.sampling.seed);
  EXPECT_EQ(seeds.size(), 3u);  // the first choice draws as the request without n does
  EXPECT_TRUE(seeds.contains(5));
}

TEST(Answers, StreamSeveralChoicesThatEachEndOnce) {
  TestServer server;
  std::map<int, std::string> texts;
  std::map<int, int> ends;
  const std::vector<Json> chunks =
      stream_of(server, "/v1/chat/completions",
                chat_with(R"("n":2,"stream":true,"stream_options":{"include_usage":true})"));
  for (const Json& chunk : chunks) {
    for (const Json& choice : chunk["choices"]) {
      texts[choice["index"]] += choice["delta"].value("content", "");
      if (!choice["finish_reason"].is_null()) ++ends[choice["index"]];
    }
  }
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "one two three"}, {1, "one two three"}}));
  EXPECT_EQ(ends, (std::map<int, int>{{0, 1}, {1, 1}}));
  EXPECT_EQ(chunks.back()["usage"]["completion_tokens"],
            2 * static_cast<int>(server.ranks.script.size()));
}

TEST(Answers, NumberTheChoicesOfSeveralPromptsInTheirOrder) {
  TestServer server;
  const Json json = complete(server, R"("prompt":["a","bc"],"n":2,"max_tokens":30,"echo":true)");
  std::vector<std::string> texts;
  for (const Json& choice : json["choices"]) texts.push_back(choice["text"]);
  EXPECT_THAT(
      texts, ElementsAre("aone two three", "aone two three", "bcone two three", "bcone two three"));
  const Json once = complete(server, R"("prompt":["a","bc"],"max_tokens":30)");
  EXPECT_EQ(json["usage"]["prompt_tokens"], once["usage"]["prompt_tokens"]);
}

TEST(Answers, TellOfWhichTokensOfThePromptWereCached) {
  TestServer server;
  const std::string prompt = Json(std::vector<int32_t>(100, 5)).dump();
  const Json first = complete(server, fmt::format(R"("prompt":{})", prompt));
  const Json second = complete(server, fmt::format(R"("prompt":{})", prompt));
  EXPECT_EQ(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(second["usage"]["prompt_tokens_details"]["cached_tokens"], 96);
  const Json salted = complete(server, fmt::format(R"("prompt":{},"cache_salt":"mine")", prompt));
  EXPECT_EQ(salted["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST(Answers, NameTheStopThatEndedThem) {
  TestServer server;
  EXPECT_TRUE(chat(server, R"("n":1)")["choices"][0]["stop_reason"].is_null());
  EXPECT_EQ(chat(server, R"("stop":["zzz"," tw"])")["choices"][0]["stop_reason"], " tw");
  const int32_t second = server.ranks.script[1];
  EXPECT_EQ(
      chat(server, fmt::format(R"("stop_token_ids":[{}])", second))["choices"][0]["stop_reason"],
      second);
  const auto chunks =
      stream_of(server, "/v1/chat/completions", chat_with(R"("stop":" tw","stream":true)"));
  EXPECT_EQ(chunks.back()["choices"][0]["stop_reason"], " tw");
}

TEST(Answers, DoNotStopBeforeMinTokens) {
  TestServer server;
  const Json json = chat(server, R"("stop":"o","min_tokens":3)");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  EXPECT_GE(json["usage"]["completion_tokens"], 3);
  const SamplingParams told = server.ranks.setups().back().sampling;
  EXPECT_EQ(told.min_tokens, 3);
  EXPECT_THAT(told.stop_ids, ElementsAre(2, 0));

  const TestResponse refused =
      server.ask("POST", "/v1/chat/completions", chat_with(R"("min_tokens":3,"max_tokens":2)"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr(R"("param":"min_tokens")"));
}

TEST(Answers, ForbidBadWordsAtTheBeginningAndBehindASpace) {
  TestServer server;
  chat(server, R"("bad_words":["one"])");
  const std::vector<std::vector<int32_t>> words = server.ranks.setups().back().sampling.bad_words;
  ASSERT_FALSE(words.empty());
  EXPECT_EQ(words.front(), server.model.tokenizer->encode("one"));
  if (words.size() > 1) EXPECT_EQ(words[1], server.model.tokenizer->encode(" one"));
  const TestResponse refused =
      server.ask("POST", "/v1/chat/completions", chat_with(R"("bad_words":["  "])"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr(R"("param":"bad_words")"));
}

TEST(Answers, TellLogprobsOfAChatInItsShape) {
  TestServer server({.answer = "é two"});
  const Json choice = chat(server, R"("logprobs":true,"top_logprobs":2)")["choices"][0];
  const Json content = choice["logprobs"]["content"];
  ASSERT_EQ(content.size(), server.ranks.script.size());
  std::string bytes;
  for (const Json& entry : content) {
    EXPECT_EQ(entry["logprob"], -0.5);
    ASSERT_EQ(entry["top_logprobs"].size(), 2u);
    EXPECT_EQ(entry["top_logprobs"][0]["token"], entry["token"]);
    EXPECT_EQ(entry["top_logprobs"][1]["logprob"], -1.5);
    for (const Json& byte : entry["bytes"]) bytes += static_cast<char>(byte.get<int>());
  }
  EXPECT_THAT(bytes, testing::StartsWith("é two"));
  EXPECT_TRUE(chat(server, R"("logprobs":false)")["choices"][0]["logprobs"].is_null());
  const Json bare = chat(server, R"("logprobs":true)")["choices"][0]["logprobs"]["content"];
  EXPECT_TRUE(bare[0]["top_logprobs"].empty());
}

TEST(Answers, StreamTheLogprobsThatTheWholeAnswerTells) {
  TestServer server({.answer = "é two 🙂 three"});
  const Json whole =
      chat(server, R"("logprobs":true,"top_logprobs":1)")["choices"][0]["logprobs"]["content"];
  Json streamed = Json::array();
  for (const Json& chunk :
       stream_of(server, "/v1/chat/completions",
                 chat_with(R"("logprobs":true,"top_logprobs":1,"stream":true)"))) {
    const Json& told = chunk["choices"][0]["logprobs"];
    if (told.is_null()) continue;
    for (const Json& entry : told["content"]) streamed.push_back(entry);
  }
  EXPECT_EQ(streamed, whole);
}

TEST(Answers, TellLogprobsOfACompletionInListsAlongItsText) {
  TestServer server({.answer = "é two"});
  const Json choice =
      complete(server, R"("prompt":[5,6],"max_tokens":9,"logprobs":2)")["choices"][0];
  const Json& told = choice["logprobs"];
  const size_t count = server.ranks.script.size();
  EXPECT_EQ(told["tokens"].size(), count);
  EXPECT_EQ(told["token_logprobs"].size(), count);
  EXPECT_EQ(told["top_logprobs"].size(), count);
  ASSERT_EQ(told["text_offset"].size(), count);
  EXPECT_EQ(told["text_offset"][0], 0);
  // The end of sequence stands behind all five characters.
  EXPECT_EQ(told["text_offset"][count - 1], 5);
  EXPECT_EQ(told["top_logprobs"][0][told["tokens"][0].get<std::string>()], -0.5);
}

TEST(Answers, EchoThePromptWithItsLogprobs) {
  TestServer server;
  const Json choice =
      complete(server, R"("prompt":[5,7,9],"max_tokens":0,"echo":true,"logprobs":1)")["choices"][0];
  EXPECT_EQ(choice["text"], server.model.tokenizer->decode({5, 7, 9}, true));
  EXPECT_EQ(choice["finish_reason"], "length");
  const Json& told = choice["logprobs"];
  ASSERT_EQ(told["tokens"].size(), 3u);
  EXPECT_TRUE(told["token_logprobs"][0].is_null());
  EXPECT_TRUE(told["top_logprobs"][0].is_null());
  EXPECT_EQ(told["token_logprobs"][1], -9999.0);  // impossible
  EXPECT_EQ(told["token_logprobs"][2], -0.5);

  const Json usage = complete(server, R"("prompt":[5,7,9],"max_tokens":0,"echo":true)")["usage"];
  EXPECT_EQ(usage["completion_tokens"], 0);
  EXPECT_EQ(usage["prompt_tokens"], 3);
}

TEST(Answers, EchoThePromptFirstInAStream) {
  TestServer server;
  const auto chunks = stream_of(server, "/v1/completions",
                                R"({"prompt":"abc","max_tokens":9,"echo":true,"stream":true})");
  EXPECT_EQ(chunks.front()["choices"][0]["text"], "abc");
  std::string text;
  for (const Json& chunk : chunks) text += chunk["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "abcone two three");
}

TEST(Answers, TellLogprobsOfThePromptAsVllmDoes) {
  TestServer server;
  const Json choice =
      complete(server, R"("prompt":[5,7,9],"max_tokens":1,"prompt_logprobs":2)")["choices"][0];
  const Json& told = choice["prompt_logprobs"];
  ASSERT_EQ(told.size(), 3u);
  EXPECT_TRUE(told[0].is_null());
  EXPECT_EQ(told[1]["7"]["logprob"], -9999.0);
  EXPECT_EQ(told[2]["9"]["rank"], 1);
  EXPECT_EQ(told[2]["10"]["rank"], 2);
  EXPECT_EQ(told[2]["9"]["decoded_token"], server.model.tokenizer->decode({9}, false));
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(chat(server, R"("prompt_logprobs":0)")["prompt_logprobs"][1].size(), 1u);
}

}  // namespace
}  // namespace dure
