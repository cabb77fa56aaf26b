// The demo model's tokenizer and template behind the API, with fake ranks. Only included by tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "server/api.h"
#include "server/http_server.h"
#include "server/test_fake_group.h"
#include "server/test_http_client.h"

namespace dure {

inline ServedModel demo_model() {
  const std::filesystem::path folder =
      std::filesystem::path(DURE_SOURCE_DIR) / "models" / "demo-moe";
  ServedModel model;
  model.names = {"demo"};
  model.created = 1;
  model.context = 2048;
  model.longest_sequence = 4097;
  model.vocab = 2048;
  model.eos_ids = {2, 0};
  model.defaults.temperature = 0.0;
  model.tokenizer = Tokenizer::load(folder);
  model.chat_template = ChatTemplate::load(folder);
  return model;
}

// Polls until it holds; false after 20 s.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class TestServer {
 public:
  struct Options {
    std::string answer = "one two three";  // what every sequence says before it ends
    int32_t pages = 256;                   // of 16 tokens
    int max_requests = 64;
    int steps_in_flight = 1;
    int dp = 1;
    ApiOptions api;
    AnswerFormat format{};  // of the model
    std::chrono::milliseconds step_timeout{60'000};
    HttpOptions http;
    bool wait_ready = true;
  };

  TestServer() : TestServer(Options{}) {}
  explicit TestServer(Options options)
      : model(demo_model()),
        workers(2, 1000),
        vocabulary(model.tokenizer, model.vocab),
        grammars(vocabulary) {
    ranks.script = model.tokenizer->encode(options.answer);
    ranks.script.push_back(2);
    model.format = options.format;
    ranks.ready = options.wait_ready;
    EngineOptions engine_options;
    engine_options.schedule.dp = options.dp;
    engine_options.schedule.pages = options.pages;
    engine_options.schedule.max_batch_tokens = 128;
    engine_options.schedule.steps_in_flight = options.steps_in_flight;
    engine_options.vocab = model.vocab;
    engine_options.max_requests = options.max_requests;
    engine_options.restart.first_wait = std::chrono::milliseconds(20);
    engine_options.step_timeout = options.step_timeout;
    model.longest_sequence = options.pages * 16 + 1;
    engine = std::make_unique<EngineLoop>(engine_options, model.tokenizer, ranks.factory());
    if (options.wait_ready) engine->wait_ready();
    context = std::make_unique<ApiContext>(
        ApiContext{model, *engine, workers, drain_rate, vocabulary, grammars, options.api});
    options.http.port = 0;
    http = std::make_unique<HttpServer>(
        options.http, [this](HttpRequest request, std::shared_ptr<Exchange> exchange) {
          handle_request(*context, std::move(request), exchange);
        });
  }

  ~TestServer() {
    http->stop();
    workers.stop();
    engine.reset();
  }

  TestClient client() const { return TestClient(http->port()); }

  TestResponse ask(std::string_view method, std::string_view path, std::string_view body = "") {
    const std::optional<TestResponse> response = client().ask(method, path, body);
    EXPECT_TRUE(response) << method << " " << path;
    return response.value_or(TestResponse{});
  }

  // Of the group, of whatever cause.
  int64_t restarts() const {
    const auto by_cause = engine->status().restarts;
    return std::accumulate(by_cause.begin(), by_cause.end(), int64_t{0});
  }

  // Nothing of any request is left in the engine.
  bool becomes_idle() {
    return eventually([&] {
      const EngineStatus status = engine->status();
      return status.running == 0 && status.waiting == 0 && status.schedule.held_pages == 0;
    });
  }

  ServedModel model;
  FakeRanks ranks;
  WorkerPool workers;
  DrainRate drain_rate;
  Vocabulary vocabulary;
  Grammars grammars;
  std::unique_ptr<EngineLoop> engine;
  std::unique_ptr<ApiContext> context;
  std::unique_ptr<HttpServer> http;
};

}  // namespace dure
