// Answers held to a grammar: fake ranks say what they like and choose among what the masks allow.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "server/grammars.h"
#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::AnyOf;
using ::testing::MatchesRegex;

TestResponse ask(TestServer& server, const std::string& fields) {
  return server.ask(
      "POST", "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":200,)" + fields + "}");
}

std::string said(TestServer& server, const std::string& fields) {
  const TestResponse response = ask(server, fields);
  EXPECT_EQ(response.status, 200) << response.body;
  const Json choice = Json::parse(response.body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop") << choice;
  return choice["message"]["content"];
}

std::string refused_param(TestServer& server, const std::string& fields) {
  const TestResponse response = ask(server, fields);
  EXPECT_EQ(response.status, 400) << response.body;
  return Json::parse(response.body)["error"]["param"];
}

TEST(StructuredAnswers, AreOneOfTheChoices) {
  TestServer server;
  for (const char* fields :
       {R"("guided_choice":["yes","no"])", R"("structured_outputs":{"choice":["yes","no"]})"}) {
    EXPECT_THAT(said(server, fields), AnyOf("yes", "no"));
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST(StructuredAnswers, KeepToASchemaWrittenWithEscapes) {
  TestServer server;
  const std::string schema =
      R"({"type":"object","properties":{"\ub3c4\uc2dc":{"enum":["\uc11c\uc6b8","\ub3c4\ucfc4"]}},)"
      R"("required":["\ub3c4\uc2dc"],"additionalProperties":false})";
  for (
      const std::string& fields :
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":)" +
           schema + "}}",
       R"("guided_json":)" + schema, R"("guided_json":)" + Json(schema).dump(),
       R"("structured_outputs":{"json":)" + schema + "}"}) {
    const Json json = Json::parse(said(server, fields));
    EXPECT_THAT(json["도시"].get<std::string>(), AnyOf("서울", "도쿄"));
  }
}

TEST(StructuredAnswers, SayWhatTheModelWantsWhereItFits) {
  TestServer server({.answer = R"({"x": [1, "é"]})"});
  EXPECT_EQ(said(server, R"("response_format":{"type":"json_object"})"), R"({"x": [1, "é"]})");
  EXPECT_EQ(said(server, R"("structured_outputs":{"json_object":true})"), R"({"x": [1, "é"]})");
}

TEST(StructuredAnswers, MatchPatternsAndGrammarsAlsoInCompletions) {
  TestServer server;
  EXPECT_THAT(said(server, R"("guided_regex":"[0-9]{3}-[ab]")"), MatchesRegex("[0-9]{3}-[ab]"));
  EXPECT_THAT(said(server, R"("guided_grammar":"root ::= \"ab\" | \"cd\"")"), AnyOf("ab", "cd"));
  const TestResponse plain = server.ask("POST", "/v1/completions",
                                        R"({"prompt":"a","n":2,"guided_choice":["left","right"]})");
  const Json answer = Json::parse(plain.body);  // outlives the loop over a part of it
  for (const Json& choice : answer["choices"]) {
    EXPECT_THAT(choice["text"].get<std::string>(), AnyOf("left", "right"));
  }
}

TEST(StructuredAnswers, MayNotEndBeforeTheyAreComplete) {
  TestServer server;
  server.ranks.script = {2};  // wants to end at once
  EXPECT_THAT(said(server, R"("guided_choice":["yes"])"), "yes");
  EXPECT_THAT(said(server, R"("guided_choice":["yes"],"ignore_eos":true,"min_tokens":100)"), "yes");
}

TEST(StructuredAnswers, AreRefusedNamingTheFieldAtFault) {
  TestServer server;
  EXPECT_EQ(refused_param(server, R"("guided_regex":"(a")"), "guided_regex");
  EXPECT_EQ(refused_param(server, R"("guided_json":{"not":{}})"), "guided_json");
  EXPECT_EQ(refused_param(server, R"("guided_json":"{")"), "guided_json");
  EXPECT_EQ(refused_param(server, R"("guided_grammar":"nonsense")"), "guided_grammar");
  EXPECT_EQ(refused_param(server, R"("guided_choice":[])"), "guided_choice");
  EXPECT_EQ(refused_param(server, R"("guided_choice":["a",""])"), "guided_choice");
  EXPECT_EQ(refused_param(server, R"("structured_outputs":{"regex":"[z-a]"})"),
            "structured_outputs.regex");
  EXPECT_EQ(refused_param(server, R"("structured_outputs":{"regex":"a","json_object":true})"),
            "structured_outputs.json_object");
  EXPECT_EQ(refused_param(server, R"("guided_regex":"a","response_format":{"type":"json_object"})"),
            "guided_regex");
  EXPECT_EQ(refused_param(server, R"("response_format":{"type":"json_schema"})"),
            "response_format.json_schema");
  EXPECT_EQ(refused_param(server, R"("response_format":{"type":"xml"})"), "response_format.type");
  EXPECT_EQ(
      refused_param(
          server,
          R"("response_format":{"type":"json_schema","json_schema":{"schema":{"uniqueItems":true}}})"),
      "response_format");
}

// Its deterministic automaton has 16,384 states.
TEST(StructuredAnswers, KeepToAPatternThatExplodesInOtherHands) {
  TestServer server({.answer = "abbbbbbbbbbbbbabababababababa"});
  EXPECT_THAT(said(server, R"("guided_regex":"[ab]*a[ab]{13}")"), MatchesRegex("[ab]*a[ab]{13}"));
}

TEST(Grammars, AreKeptWhileTheyAreAmongTheLastUsed) {
  const ServedModel model = demo_model();
  Vocabulary vocabulary(model.tokenizer, model.vocab);
  Grammars grammars(vocabulary, 2);
  const auto of = [&](const char* pattern) {
    GrammarSource source;
    source.kind = GrammarSource::Kind::regex;
    source.text = pattern;
    return grammars.constraint(source);
  };
  const auto a = of("a"), b = of("b");
  EXPECT_EQ(of("a"), a);
  of("c");  // drops b
  EXPECT_EQ(of("a"), a);
  EXPECT_NE(of("b"), b);
}

}  // namespace
}  // namespace dure
