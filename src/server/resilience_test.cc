// What happens when ranks die or freeze, clients leave, and the server is asked to stop.
#include <gmock/gmock.h>

#include <random>

#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* hello = R"({"messages":[{"role":"user","content":"hi"}]})";
constexpr const char* endless =
    R"({"messages":[{"role":"user","content":"hi"}],"stream":true,"ignore_eos":true})";

// Reads a stream to its end; the text of all its chunks.
std::string read_stream(TestClient& stream, std::string seen = "") {
  while (seen.find("\r\n0\r\n") == std::string::npos) {
    const std::string more = stream.read_some();
    if (more.empty()) break;
    seen += more;
  }
  std::string text;
  for (size_t at = 0; (at = seen.find("\"content\":\"", at)) != std::string::npos;) {
    at += 11;
    text += seen.substr(at, seen.find('"', at) - at);
  }
  EXPECT_THAT(seen, HasSubstr("[DONE]"));
  EXPECT_THAT(seen, Not(HasSubstr("error")));
  return text;
}

TEST(Resilience, GoesOnWithEveryRequestAfterTheRanksDiedWithTheSameTokens) {
  constexpr const char* streamed =
      R"({"messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":200})";
  TestServer server({.answer = "a b c d e f g h i j k l m n o p q r s t u v w x y z"});
  server.ranks.step_time = std::chrono::milliseconds(2);
  for (int round = 0; round < 5; ++round) {
    TestClient stream = server.client();
    stream.send_request("POST", "/v1/chat/completions", streamed);
    const std::string begun = stream.read_some();
    EXPECT_THAT(begun, HasSubstr("200 OK"));
    server.ranks.frozen = true;
    TestClient whole = server.client();
    whole.send_request("POST", "/v1/chat/completions", hello);
    ASSERT_TRUE(eventually([&] {
      const EngineStatus status = server.engine->status();
      return status.running + status.waiting == 2;
    }));
    server.ranks.die("rank 2 (pid 123) was killed by signal 9");
    ASSERT_TRUE(eventually([&] { return server.restarts() == round + 1; }));
    server.ranks.frozen = false;
    EXPECT_EQ(read_stream(stream, begun), "a b c d e f g h i j k l m n o p q r s t u v w x y z");
    const std::optional<TestResponse> answer = whole.read_response();
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->body, HasSubstr("\"a b c d e f g h i j k l m n o p q r s t u v w x y z\""));
  }
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(server.ranks.corrupt_reads, 0);
  EXPECT_GT(server.engine->status().replayed_tokens, 0);
  EXPECT_THAT(server.engine->status().last_error, HasSubstr("signal 9"));
}

TEST(Resilience, LetsRequestsWaitWhileTheRanksRestart) {
  TestServer server;
  server.ranks.ready = false;
  server.ranks.die("gone");
  ASSERT_TRUE(eventually([&] { return server.engine->status().state == GroupState::restarting; }));
  TestClient waiting = server.client();
  waiting.send_request("POST", "/v1/chat/completions", hello);
  const TestResponse health = server.ask("GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_FALSE(TestClient::header(health.head, "Retry-After").empty());
  server.ranks.ready = true;
  EXPECT_EQ(waiting.read_response()->status, 200);
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

TEST(Resilience, FailsWhoWaitsWhereTheRanksDoNotComeBack) {
  TestServer server;
  server.ranks.ready = false;
  server.ranks.die("gone");
  TestClient waiting = server.client();
  waiting.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] {
    server.ranks.die("no such tensor");
    return server.engine->status().counts.failed == 1;
  }));
  const std::optional<TestResponse> failed = waiting.read_response();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, 503);
  EXPECT_THAT(failed->body, HasSubstr("no such tensor"));
}

TEST(Resilience, FailsOnlyTheRequestThatTheRanksDieOf) {
  TestServer server({.answer = "a b c d e f g h i j k l m n o p"});
  server.ranks.step_time = std::chrono::milliseconds(1);
  server.ranks.poison = server.model.tokenizer->encode("z").front();
  std::vector<TestClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(server.client());
    const std::string content = i == 3 ? "z z z" : "hi";
    clients.back().send_request("POST", "/v1/chat/completions",
                                R"({"messages":[{"role":"user","content":")" + content + R"("}]})");
  }
  for (int i = 0; i < 8; ++i) {
    const std::optional<TestResponse> response = clients[static_cast<size_t>(i)].read_response();
    ASSERT_TRUE(response) << i;
    EXPECT_EQ(response->status, i == 3 ? 500 : 200) << i;
    EXPECT_THAT(response->body, HasSubstr(i == 3 ? "died 3 times while they computed this request"
                                                 : "\"a b c d e f g h i j k l m n o p\""));
  }
  EXPECT_EQ(server.restarts(), 3);
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Resilience, TakesAGroupThatAnswersNonsenseForDead) {
  TestServer server;
  server.ranks.answers_nonsense = true;
  const TestResponse failed = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("is not one to the step that is next"));
  server.ranks.answers_nonsense = false;
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", hello).status, 200);
}

TEST(Resilience, SaysWhyThereIsNoNextToken) {
  TestServer server;
  server.ranks.script = {-1};
  TestResponse failed = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("logits are not numbers"));
  server.ranks.script = {-2};
  failed = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(failed.status, 400);
  EXPECT_THAT(failed.body, HasSubstr("no token may come next"));
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Resilience, ReportsAFreezeAndRecoversFromIt) {
  TestServer server({.api = {.stalled_after_s = 0.2}});
  server.ranks.frozen = true;
  TestClient waiting = server.client();
  waiting.send_request("POST", "/v1/chat/completions", hello);
  EXPECT_TRUE(eventually([&] { return server.ask("GET", "/health").status == 503; }));
  server.ranks.frozen = false;
  EXPECT_EQ(waiting.read_response()->status, 200);
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

TEST(Resilience, TakesAFreezeThatLastsTooLongForADeath) {
  TestServer server({.step_timeout = std::chrono::milliseconds(200)});
  server.ranks.frozen = true;
  TestClient waiting = server.client();
  waiting.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] { return server.restarts() > 0; }));
  EXPECT_THAT(server.engine->status().last_error, HasSubstr("was not answered"));
  server.ranks.frozen = false;
  EXPECT_EQ(waiting.read_response()->status, 200);
}

TEST(Resilience, FailsToStartWithTheRanksOwnWords) {
  TestServer server({.wait_ready = false});
  EXPECT_EQ(server.ask("GET", "/health").status, 503);
  server.ranks.die("no such tensor");
  try {
    server.engine->wait_ready();
    FAIL() << "became ready";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "no such tensor");
  }
  EXPECT_EQ(server.ranks.launches, 1);
}

TEST(Resilience, CancelsWhatAClientThatLeftWasWaitingFor) {
  TestServer server;
  server.ranks.step_time = std::chrono::milliseconds(1);
  std::vector<TestClient> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(server.client());
    clients.back().send_request("POST", "/v1/chat/completions", endless);
  }
  ASSERT_TRUE(eventually([&] {
    const EngineStatus status = server.engine->status();
    return status.running + status.waiting == 16;
  }));
  clients.clear();
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(server.engine->status().counts.cancelled, 16);
}

TEST(Resilience, KeepsSurvivorsWholeWhileOthersAreCancelledOnASmallCache) {
  TestServer server(
      {.answer = "a b c d e f g h i j k l m n o p", .pages = 24, .steps_in_flight = 2, .dp = 2});
  std::mt19937 random(3);
  int survivors = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<TestClient> clients;
    for (int i = 0; i < 12; ++i) {
      clients.push_back(server.client());
      clients.back().send_request(
          "POST", "/v1/chat/completions",
          R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":60})");
    }
    for (TestClient& client : clients) {
      if (random() % 2 == 0) {
        client.close();
        continue;
      }
      const std::optional<TestResponse> response = client.read_response();
      ASSERT_TRUE(response);
      EXPECT_THAT(response->body, HasSubstr("\"a b c d e f g h i j k l m n o p\""));
      ++survivors;
    }
  }
  EXPECT_GT(survivors, 20);
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(server.ranks.corrupt_reads, 0);
}

TEST(Resilience, DrainsWhatIsRunningAndRefusesTheRest) {
  TestServer server;
  server.ranks.frozen = true;
  TestClient running = server.client();
  running.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] { return server.engine->status().running == 1; }));
  server.engine->drain(std::chrono::seconds(20));
  const TestResponse refused = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("shutting down"));
  server.ranks.frozen = false;
  EXPECT_EQ(running.read_response()->status, 200);
  server.engine->wait_stopped();
  EXPECT_EQ(server.ranks.orderly_stops, 1);
}

TEST(Resilience, FailsWhatIsStillRunningWhenTheDrainsTimeIsOver) {
  TestServer server;
  server.ranks.frozen = true;
  TestClient running = server.client();
  running.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] { return server.engine->status().running == 1; }));
  server.engine->drain(std::chrono::milliseconds(50));
  EXPECT_EQ(running.read_response()->status, 503);
  server.engine->wait_stopped();
}

TEST(Resilience, DropsAReaderThatFallsTooFarBehind) {
  TestServer server;
  server.ranks.script = server.model.tokenizer->encode("x");  // for ever
  server.model.context = 1 << 20;
  TestClient slow = server.client();
  const int small = 4096;
  ::setsockopt(slow.descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  // Never reads: the kernel's buffers and the outbox fill up long before the answers end.
  std::string prompts = "[1]";
  for (int i = 0; i < 60; ++i) prompts += ",[1]";
  slow.send_request(
      "POST", "/v1/completions",
      R"({"prompt":[)" + prompts + R"(],"stream":true,"ignore_eos":true,"max_tokens":4000})");
  EXPECT_TRUE(eventually([&] { return server.engine->status().counts.cancelled > 0; }));
  EXPECT_TRUE(server.becomes_idle());
}

}  // namespace
}  // namespace dure
