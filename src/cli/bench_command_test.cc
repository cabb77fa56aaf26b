// `dure bench` as a command: flags, exit status, output and files, against a server in this
// process.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/json.h"
#include "cli/testing.h"
#include "model/testing.h"
#include "server/http_server.h"

namespace dure {
namespace {

using testing::dure;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::TempFolder;

using Words = std::vector<std::string>;

std::string event(const Json& json) {
  return "data: " + json.dump() + "\n\n";
}

// Answers each generation with as many pieces of text as were asked, and counts what it read.
class TinyServer {
 public:
  explicit TinyServer(int refused = 0)
      : refused_(refused), http_(options(), [this](HttpRequest request, const auto& exchange) {
          answer(std::move(request), *exchange);
        }) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(http_.port()); }
  int generations() const { return generations_; }

 private:
  static HttpOptions options() {
    HttpOptions made;
    made.port = 0;
    return made;
  }

  void answer(HttpRequest request, Exchange& exchange) {
    HttpResponse response;
    if (request.path == "/v1/models") {
      response.body = R"({"data":[{"id":"tiny"}]})";
      return exchange.reply(std::move(response));
    }
    if (request.path != "/v1/completions" && request.path != "/v1/chat/completions") {
      response.status = 404;
      return exchange.reply(std::move(response));
    }
    if (generations_++ < refused_) {
      response.status = 429;
      response.headers = {{"Retry-After", "1"}};
      response.body = R"({"error":{"message":"the queue is full"}})";
      return exchange.reply(std::move(response));
    }
    generate(parse_json(request.body, "body"), request.path != "/v1/completions", exchange);
  }

  static void generate(const Json& body, bool chat, Exchange& exchange) {
    exchange.start_stream();
    const int tokens = body.at("max_tokens");
    for (int i = 0; i < tokens; ++i) {
      Json choice = {{"index", 0}, {"finish_reason", nullptr}};
      if (chat) {
        choice["delta"] = {{"content", "a"}};
      } else {
        choice["text"] = "a";
      }
      if (i + 1 == tokens) choice["finish_reason"] = "length";
      exchange.write(event({{"choices", Json::array({choice})}}));
    }
    exchange.write(event({{"choices", Json::array()},
                          {"usage", {{"prompt_tokens", 11}, {"completion_tokens", tokens}}}}));
    exchange.write("data: [DONE]\n\n");
    exchange.finish_stream();
  }

  int refused_;
  std::atomic<int> generations_ = 0;
  HttpServer http_;
};

Outcome bench(const TinyServer& server, const Words& words) {
  Words all = {"bench", server.url()};
  all.insert(all.end(), words.begin(), words.end());
  return dure(all);
}

TEST(Bench, MeasuresEveryRequestAndSavesThem) {
  const TinyServer server;
  const TempFolder folder;
  const std::string csv = folder.path() / "requests.csv";
  const std::string all = folder.path() / "all.json";
  const Outcome outcome =
      bench(server, {"--concurrency", "4", "--requests", "30", "--output", "5", "--warmup", "3",
                     "--json", "--csv", csv, "--save", all, "--goodput", "ttft:1min"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");  // no progress where nobody looks
  EXPECT_EQ(server.generations(), 33);
  const Json json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json["model"], "tiny");
  EXPECT_EQ(json["concurrency"], 4);
  EXPECT_EQ(json["requests"], 30);
  EXPECT_EQ(json["completed"], 30);
  EXPECT_EQ(json["input_tokens"], 330);
  EXPECT_EQ(json["output_tokens"], 150);
  EXPECT_EQ(json["chunks"], 150);
  EXPECT_EQ(json["itl_s"]["count"], 120);
  EXPECT_EQ(json["goodput"]["requests"], 30);
  EXPECT_EQ(json["prompts_as"], "text");  // it has no /tokenize
  EXPECT_EQ(read_csv_file(csv).size(), 30);
  const Json saved = read_json_file(all);
  EXPECT_EQ(saved["records"].size(), 30);
  EXPECT_EQ(saved["records"][0]["arrivals_s"].size(), 5);
}

TEST(Bench, PrintsATableForPeople) {
  const TinyServer server;
  const Outcome outcome =
      bench(server, {"--rate", "inf", "--requests", "8", "--endpoint", "chat", "--ttft", "1min"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"open loop", "8 completed", "tokens/s out", "TTFT", "TPOT", "ITL", "E2E",
                           "p50", "p99", "goodput", "counted by the server"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST(Bench, SaysNoWhereARequestFailedAndNamesWhy) {
  const TinyServer server(3);
  const Outcome outcome = bench(server, {"--rate", "inf", "--requests", "8"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("3 × HTTP 429 (Retry-After 1.00 s): the queue is full"));
  EXPECT_EQ(server.generations(), 8);  // an open loop does not try again
}

TEST(Bench, ReplaysATraceOfEachForm) {
  const TinyServer server;
  for (const char* name : {"mooncake_conversation.jsonl", "splitwise_conv.csv"}) {
    const Outcome outcome = bench(server, {"--trace", testing::data(std::string("traces/") + name),
                                           "--speed", "100000", "--requests", "10", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(parse_json(outcome.out, "stdout")["completed"], 10);
  }
}

TEST(Bench, KeepsABackgroundApart) {
  const TinyServer server;
  const Outcome outcome =
      bench(server, {"--concurrency", "2", "--requests", "40", "--json", "--background",
                     "concurrency=1,input=2000,3000:2,output=4"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json["completed"], 40);
  EXPECT_GE(json["background"]["requests"], 1);
  EXPECT_TRUE(json.contains("itl_beside_background_prompt_s"));
}

TEST(Bench, SaysWhenNobodyIsThere) {
  const std::string gone = TinyServer().url();
  const Outcome outcome = dure({"bench", gone});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("nobody answers"));
  // With a name for the model there is nothing to ask first: it is each request that fails.
  const Outcome counted = dure({"bench", gone, "--model", "m", "--rate", "inf", "--requests", "5"});
  EXPECT_EQ(counted.status, 1);
  EXPECT_THAT(counted.out, HasSubstr("5 × not_reached"));
}

TEST(Bench, RefusesFlagsThatCannotBeMeant) {
  const TinyServer server;
  const TempFolder folder;
  const std::string broken = folder.path() / "broken.jsonl";
  std::ofstream(broken) << "{\"timestamp\": 0}\n";
  for (const Words& words :
       std::vector<Words>{{"--concurrency", "0"},
                          {"--concurrency", "4", "--rate", "3"},
                          {"--rate", "0"},
                          {"--rate", "-1"},
                          {"--rate", "nan"},
                          {"--rate", "many"},
                          {"--requests", "0"},
                          {"--input", "0"},
                          {"--input", "9..3"},
                          {"--output", "x"},
                          {"--duration", "60"},
                          {"--shared-prefix", "5x5"},
                          {"--background", "input=5"},
                          {"--background", "rate=1,concurrency=2"},
                          {"--background", "rate=inf"},
                          {"--background", "rate=1,flab=2"},
                          {"--background", "30K"},
                          {"--cancel-fraction", "1.5"},
                          {"--cancel-fraction", "nan"},
                          {"--goodput", "ttft:5"},
                          {"--goodput", "ttft:5ms", "--ttft", "5ms"},
                          {"--ttft", "5"},
                          {"--speed", "2"},
                          {"--trace", broken},
                          {"--trace", (folder.path() / "none").string()},
                          {"--trace", testing::data("traces/splitwise_conv.csv"), "--input", "5"},
                          {"--prompts", broken},
                          {"--endpoint", "embeddings"},
                          {"--extra", "{"},
                          {"--extra", "[]"},
                          {"--extra", "{\"max_tokens\": 5}"},
                          {"--timeout", "0s"},
                          {"--csv", (folder.path() / "none" / "a.csv").string()},
                          {"--save", folder.path().string()},
                          {"--temperature", "hot"},
                          {"--flab"}}) {
    std::string what;
    for (const std::string& word : words) what += word + " ";
    expect_refused(bench(server, words), what);
  }
  EXPECT_EQ(server.generations(), 0);
  expect_refused(dure({"bench"}), "no URL");
  expect_refused(dure({"bench", "https://a"}), "https");
  expect_refused(dure({"bench", "no-such-host.invalid:1"}), "unknown host");
}

}  // namespace
}  // namespace dure
