// The API over real sockets, in front of fake ranks: shapes, statuses, streams.
#include "server/api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* hello = R"({"model":"demo","messages":[{"role":"user","content":"hi"}]})";

std::string chat_with(const std::string& fields) {
  return R"({"model":"demo","messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

Json json_of(const TestResponse& response) {
  return Json::parse(response.body);
}

std::string streamed_text(const TestResponse& response) {
  std::string text;
  for (const std::string& data : response.events()) {
    if (data == "[DONE]") continue;
    const Json chunk = Json::parse(data);
    for (const Json& choice : chunk["choices"]) {
      if (choice.contains("delta")) text += choice["delta"].value("content", "");
      if (choice.contains("text")) text += choice["text"].get<std::string>();
    }
  }
  return text;
}

TEST(Api, AnswersAChatInTheShapeOfOpenAi) {
  TestServer server;
  const TestResponse response = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(response.status, 200);
  const Json json = json_of(response);
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["model"], "demo");
  EXPECT_THAT(json["id"].get<std::string>(), HasSubstr("chatcmpl-"));
  EXPECT_EQ(json["choices"].size(), 1u);
  EXPECT_EQ(json["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(json["choices"][0]["message"]["content"], "one two three");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  const auto produced = static_cast<int64_t>(server.ranks.script.size());
  EXPECT_EQ(json["usage"]["completion_tokens"], produced);
  EXPECT_EQ(json["usage"]["total_tokens"],
            json["usage"]["prompt_tokens"].get<int64_t>() + produced);
}

TEST(Api, StreamsTheSameTextAndSaysTheRoleFirstAndTheReasonLast) {
  TestServer server;
  const TestResponse response =
      server.ask("POST", "/v1/chat/completions", chat_with(R"("stream":true)"));
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.head, HasSubstr("text/event-stream"));
  const std::vector<std::string> events = response.events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(Json::parse(events.front())["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Json::parse(events[events.size() - 2])["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(streamed_text(response), "one two three");
  EXPECT_THAT(response.body, Not(HasSubstr("usage")));
}

TEST(Api, SendsUsageInTheLastChunkOnlyWhenAskedTo) {
  TestServer server;
  const TestResponse response =
      server.ask("POST", "/v1/chat/completions",
                 chat_with(R"("stream":true,"stream_options":{"include_usage":true})"));
  const std::vector<std::string> events = response.events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events.back(), "[DONE]");
  const Json last = Json::parse(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_GT(last["usage"]["total_tokens"], 0);
  const Json first = Json::parse(events.front());
  EXPECT_EQ(last["id"], first["id"]);
  EXPECT_EQ(last["model"], first["model"]);
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const Json chunk = Json::parse(events[i]);
    EXPECT_TRUE(chunk.contains("usage") && chunk["usage"].is_null()) << events[i];
    EXPECT_EQ(chunk["choices"].size(), 1u);
  }
}

TEST(Api, EndsAtMaxTokensWithReasonLength) {
  TestServer server;
  const Json json =
      json_of(server.ask("POST", "/v1/chat/completions", chat_with(R"("max_tokens":1)")));
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(json["usage"]["completion_tokens"], 1);
}

TEST(Api, CutsTheTextBeforeAStopStringWhereverItsTokensAreCut) {
  TestServer server({.answer = "ABCDEFGHIJKLM"});
  for (const char* stream : {"false", "true"}) {
    const TestResponse response =
        server.ask("POST", "/v1/chat/completions",
                   chat_with(fmt::format(R"("stop":"DEFGHIJ","stream":{})", stream)));
    const std::string text =
        std::string(stream) == "true"
            ? streamed_text(response)
            : json_of(response)["choices"][0]["message"]["content"].get<std::string>();
    EXPECT_EQ(text, "ABC");
    EXPECT_THAT(response.body, HasSubstr(R"("finish_reason":"stop")"));
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Api, NeverCutsACharacterInAStream) {
  TestServer server({.answer = "텐서 병렬 🙂 é"});
  const TestResponse response =
      server.ask("POST", "/v1/chat/completions", chat_with(R"("stream":true)"));
  EXPECT_EQ(streamed_text(response), "텐서 병렬 🙂 é");
  EXPECT_THAT(response.body, Not(HasSubstr("\xEF\xBF\xBD")));
}

TEST(Api, ShowsBytesThatAreNoCharacterAndGoesOn) {
  TestServer server;
  const std::vector<int32_t> bytes = server.model.tokenizer->encode("✅");
  ASSERT_EQ(bytes.size(), 3u);  // one token each
  server.ranks.script = {bytes[2], bytes[0], bytes[1]};
  for (const int32_t id : server.model.tokenizer->encode(" and more")) {
    server.ranks.script.push_back(id);
  }
  server.ranks.script.insert(server.ranks.script.end(), {bytes[0], 2});
  const std::string expected = "\xEF\xBF\xBD\xEF\xBF\xBD and more\xEF\xBF\xBD";
  const TestResponse whole = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(json_of(whole)["choices"][0]["message"]["content"], expected);
  EXPECT_EQ(
      streamed_text(server.ask("POST", "/v1/chat/completions", chat_with(R"("stream":true)"))),
      expected);
  const TestResponse back =
      server.ask("POST", "/detokenize", fmt::format(R"({{"tokens":[{}]}})", bytes[0]));
  EXPECT_EQ(json_of(back)["prompt"], "\xEF\xBF\xBD");
}

TEST(Api, AnswersEveryPromptOfAListAsOneChoice) {
  TestServer server;
  const Json json =
      json_of(server.ask("POST", "/v1/completions", R"({"prompt":["a","b",""],"max_tokens":50})"));
  EXPECT_EQ(json["error"]["param"], "prompt[2]");
  const Json two =
      json_of(server.ask("POST", "/v1/completions", R"({"prompt":["a","b"],"max_tokens":50})"));
  EXPECT_EQ(two["object"], "text_completion");
  ASSERT_EQ(two["choices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(two["choices"][i]["index"], i);
    EXPECT_EQ(two["choices"][i]["text"], "one two three");
  }
  const TestResponse stream = server.ask("POST", "/v1/completions",
                                         R"({"prompt":[[5],[6,7]],"max_tokens":50,"stream":true})");
  EXPECT_EQ(stream.events().back(), "[DONE]");
  EXPECT_EQ(streamed_text(stream).size(), 2 * std::string("one two three").size());
}

TEST(Api, RefusesAPromptThatExceedsTheContextNamingBothNumbers) {
  TestServer server;
  const TestResponse long_prompt =
      server.ask("POST", "/v1/completions",
                 fmt::format(R"({{"prompt":{}}})", Json(std::vector<int32_t>(3000, 5)).dump()));
  EXPECT_EQ(long_prompt.status, 400);
  const Json error = json_of(long_prompt)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("3000"));
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("2048"));

  const Json sum = json_of(
      server.ask("POST", "/v1/completions", R"({"prompt":[5,6,7],"max_tokens":2046})"))["error"];
  EXPECT_EQ(sum["param"], "max_tokens");
  EXPECT_THAT(sum["message"].get<std::string>(), HasSubstr("2049"));
}

TEST(Api, RefusesAtOnceWhatTheCacheCanNeverHoldAndServesTheOthers) {
  TestServer server({.pages = 8});  // 128 tokens
  const TestResponse large = server.ask(
      "POST", "/v1/completions",
      fmt::format(R"({{"prompt":{},"max_tokens":10}})", Json(std::vector<int32_t>(125, 5)).dump()));
  EXPECT_EQ(large.status, 400);
  EXPECT_THAT(large.body, HasSubstr("135"));
  EXPECT_THAT(large.body, HasSubstr("129"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(server.ask("POST", "/v1/completions", R"({"prompt":"a"})").status, 200);
  }
}

TEST(Api, SaysWhichModelsThereAre) {
  TestServer server;
  const Json list = json_of(server.ask("GET", "/v1/models"));
  EXPECT_EQ(list["data"][0]["id"], "demo");
  EXPECT_EQ(list["data"][0]["max_model_len"], 2048);
  EXPECT_EQ(server.ask("GET", "/v1/models/demo").status, 200);
  EXPECT_EQ(server.ask("GET", "/v1/models/d%65mo").status, 200);
  const TestResponse missing = server.ask("GET", "/v1/models/gpt-5");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(json_of(missing)["error"]["code"], "model_not_found");
  EXPECT_EQ(server
                .ask("POST", "/v1/chat/completions",
                     R"({"model":"gpt-5","messages":[{"role":"user","content":"x"}]})")
                .status,
            404);
}

TEST(Api, TokenizesAndBack) {
  TestServer server;
  const Json json = json_of(server.ask("POST", "/tokenize", R"({"prompt":"one two"})"));
  EXPECT_EQ(json["count"], json["tokens"].size());
  EXPECT_EQ(json["max_model_len"], 2048);
  const Json back = json_of(
      server.ask("POST", "/detokenize", fmt::format(R"({{"tokens":{}}})", json["tokens"].dump())));
  EXPECT_EQ(back["prompt"], "one two");
  const Json chat =
      json_of(server.ask("POST", "/tokenize", R"({"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_GT(chat["count"], 5);
}

TEST(Api, AnswersWrongPathsAndMethodsInTheShapeOfOpenAi) {
  TestServer server;
  EXPECT_EQ(server.ask("GET", "/nowhere").status, 404);
  const TestResponse wrong = server.ask("GET", "/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(TestClient::header(wrong.head, "Allow"), "POST");
  EXPECT_TRUE(json_of(wrong)["error"].contains("message"));
  EXPECT_EQ(server.ask("POST", "/health", "").status, 405);
  EXPECT_EQ(server.ask("GET", "/v1/models?x=1").status, 200);
}

TEST(Api, LetsOnlyHoldersOfAKeyInButTellsEverybodyItsHealth) {
  TestServer server({.api = {.api_keys = {"secret", "other"}}});
  const auto status = [&](std::string_view header) {
    return server.client().ask("GET", "/v1/models", "", header)->status;
  };
  EXPECT_EQ(status(""), 401);
  EXPECT_EQ(status("Authorization: Bearer wrong\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer \r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer secret\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer other\r\n"), 200);
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

TEST(Api, CountsTokensAndExpertsInItsMetrics) {
  TestServer server;
  server.ask("POST", "/v1/chat/completions", hello);
  const TestResponse response = server.ask("GET", "/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("vllm:num_requests_running{model_name=\"demo\"} 0"));
  EXPECT_THAT(response.body, HasSubstr(fmt::format("vllm:generation_tokens_total{{model_name="
                                                   "\"demo\"}} {}",
                                                   server.ranks.script.size())));
  EXPECT_THAT(response.body, HasSubstr("# TYPE vllm:time_to_first_token_seconds histogram"));
  EXPECT_THAT(response.body,
              HasSubstr("vllm:time_to_first_token_seconds_bucket{model_name=\"demo\","
                        "le=\"+Inf\"} 1\n"));
  EXPECT_THAT(response.body,
              HasSubstr("vllm:time_to_first_token_seconds_count{model_name=\"demo\"} "
                        "1\n"));
  EXPECT_THAT(response.body,
              HasSubstr(fmt::format("vllm:inter_token_latency_seconds_count{{model_name=\"demo\"}} "
                                    "{}\n",
                                    server.ranks.script.size() - 1)));
  EXPECT_THAT(response.body, HasSubstr(fmt::format(
                                 "vllm:request_generation_tokens_sum{{model_name=\"demo\"}} {}\n",
                                 server.ranks.script.size())));
  EXPECT_THAT(response.body,
              HasSubstr("dure:expert_tokens_total{model_name=\"demo\",layer=\"1\",expert=\"2\","
                        "rank=\"1\"} 20\n"));
  EXPECT_THAT(response.body,
              HasSubstr("dure:expert_imbalance_ratio{model_name=\"demo\",layer=\"1\"} 1.3333"));
  EXPECT_THAT(response.body, HasSubstr("dure:collective_bytes_total{model_name=\"demo\",op="
                                       "\"all_reduce\",rank=\"1\"} 2\n"));
  EXPECT_THAT(response.body, HasSubstr("dure:collective_wait_seconds_total{model_name=\"demo\",op="
                                       "\"all_reduce\",rank=\"0\"} 0.5\n"));
  EXPECT_THAT(response.body, HasSubstr("dure:rank_seconds_total{model_name=\"demo\",part="
                                       "\"experts\",rank=\"1\"} 2.5\n"));
  EXPECT_THAT(response.body, HasSubstr("dure:step_seconds_count{model_name=\"demo\",phase="
                                       "\"prefill\"} 1\n"));
  EXPECT_THAT(response.body, HasSubstr("dure:group_restarts_total{model_name=\"demo\",cause="
                                       "\"killed\"} 0\n"));
  EXPECT_THAT(response.body, HasSubstr("dure:expert_slots_dropped_total{model_name=\"demo\"} 33"));
  EXPECT_THAT(response.body, HasSubstr("dure:expert_slots_moved_total{model_name=\"demo\"} 44"));
}

TEST(Api, NamesItsAnswersAfterTheRequestsId) {
  TestServer server;
  const auto ask = [&](const std::string& body) {
    return server.client().ask("POST", "/v1/chat/completions", body, "X-Request-Id: my-id\r\n");
  };
  EXPECT_EQ(json_of(*ask(hello))["id"], "chatcmpl-my-id");
  const std::optional<TestResponse> refused = ask("{}");
  EXPECT_EQ(refused->status, 400);
  EXPECT_EQ(TestClient::header(refused->head, "X-Request-Id"), "my-id");
}

TEST(Api, SaysWhyEndpointsOfOpenAiAreNotServed) {
  TestServer server;
  const TestResponse embeddings =
      server.ask("POST", "/v1/embeddings", R"({"model":"demo","input":"a"})");
  EXPECT_EQ(embeddings.status, 400);
  EXPECT_THAT(json_of(embeddings)["error"]["message"].get<std::string>(),
              HasSubstr("no embeddings"));
  for (const char* path : {"/v1/responses", "/v1/audio/speech", "/v1/images/generations",
                           "/v1/moderations", "/v1/batches", "/v1/files"}) {
    const TestResponse refused = server.ask("POST", path, "{}");
    EXPECT_EQ(refused.status, 404) << path;
    const Json error = json_of(refused)["error"];
    EXPECT_EQ(error["code"], "unsupported_endpoint") << path;
    EXPECT_TRUE(error.contains("param") && error.contains("type")) << path;
  }
  EXPECT_EQ(json_of(server.ask("POST", "/v1/audiobooks", "{}"))["error"]["code"], "not_found");
}

TEST(Api, KeepsNoGaugeUpAfterAllClientsVanish) {
  TestServer server({.max_requests = 200});
  server.ranks.step_time = std::chrono::milliseconds(1);
  std::vector<TestClient> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(server.client());
    clients.back().send_request("POST", "/v1/chat/completions",
                                chat_with(R"("stream":true,"ignore_eos":true)"));
  }
  ASSERT_TRUE(eventually([&] {
    const EngineStatus status = server.engine->status();
    return status.running + status.waiting == 64;
  }));
  clients.clear();
  EXPECT_TRUE(server.becomes_idle());
  const TestResponse metrics = server.ask("GET", "/metrics");
  EXPECT_THAT(metrics.body, HasSubstr("vllm:num_requests_running{model_name=\"demo\"} 0"));
  EXPECT_THAT(metrics.body, HasSubstr("vllm:num_requests_waiting{model_name=\"demo\"} 0"));
}

TEST(Api, RefusesMoreRequestsThanItsLimitWith429) {
  TestServer server({.max_requests = 2});
  server.ranks.frozen = true;
  TestClient first = server.client();
  TestClient second = server.client();
  first.send_request("POST", "/v1/chat/completions", hello);
  second.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] {
    const EngineStatus status = server.engine->status();
    return status.running + status.waiting == 2;
  }));
  const TestResponse refused = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(refused.status, 429);
  EXPECT_FALSE(TestClient::header(refused.head, "Retry-After").empty());
  server.ranks.frozen = false;
  EXPECT_EQ(first.read_response()->status, 200);
  EXPECT_EQ(second.read_response()->status, 200);
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", hello).status, 200);
}

// Whoever waits for its answer finds a place for the next request, as soon as it has the answer.
TEST(Api, HasAPlaceForTheNextRequestOfAClientThatWaits) {
  TestServer server({.max_requests = 1});
  TestClient client = server.client();
  for (int i = 0; i < 200; ++i) {
    client.send_request("POST", "/v1/chat/completions", hello);
    ASSERT_EQ(client.read_response()->status, 200) << i;
  }
}

TEST(Api, RefusesWhatCouldNeverBeTakenAsWrong) {
  TestServer server({.max_requests = 4});
  const TestResponse many =
      server.ask("POST", "/v1/completions", R"({"prompt":[5],"max_tokens":1,"n":5})");
  EXPECT_EQ(many.status, 400);
  EXPECT_THAT(many.body, HasSubstr("5 sequences in one request, where 4 may run"));
  TestServer wide({.max_requests = 200});
  std::string words;
  for (int i = 0; i < 1024; ++i) words += (i > 0 ? "," : "") + fmt::format(R"("{:a>1024}")", i);
  const TestResponse lists =
      wide.ask("POST", "/v1/completions",
               fmt::format(R"({{"prompt":[5],"max_tokens":1,"n":128,"bad_words":[{}]}})", words));
  EXPECT_EQ(lists.status, 400);
  EXPECT_THAT(lists.body, HasSubstr("bad_words may take 4.00 MiB of each of 128 sequences"));
}

}  // namespace
}  // namespace dure
