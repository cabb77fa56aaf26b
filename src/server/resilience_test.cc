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

TEST(Resilience, FailsLiveRequestsWithAReasonAndServesAgainAfterTheRestart) {
  TestServer server;
  server.ranks.step_time = std::chrono::milliseconds(2);
  TestClient stream = server.client();
  stream.send_request("POST", "/v1/chat/completions", endless);
  std::string seen = stream.read_some();
  EXPECT_THAT(seen, HasSubstr("200 OK"));
  server.ranks.frozen = true;
  TestClient whole = server.client();
  whole.send_request("POST", "/v1/chat/completions", hello);
  ASSERT_TRUE(eventually([&] {
    const EngineStatus status = server.engine->status();
    return status.running + status.waiting == 2;
  }));
  server.ranks.die("rank 2 (pid 123) was killed by signal 9");

  const std::optional<TestResponse> failed = whole.read_response();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, 503);
  EXPECT_THAT(failed->body, HasSubstr("signal 9"));
  for (std::string more; !(more = stream.read_some()).empty();) {
    seen += more;
    if (seen.find("\r\n0\r\n") != std::string::npos) break;
  }
  EXPECT_THAT(seen, HasSubstr("data: {\"error\":"));
  EXPECT_THAT(seen, Not(HasSubstr("[DONE]")));

  server.ranks.frozen = false;
  ASSERT_TRUE(eventually([&] { return server.engine->status().state == GroupState::ready; }));
  EXPECT_EQ(server.engine->status().restarts, 1);
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", hello).status, 200);
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Resilience, RefusesRequestsWhileTheRanksRestart) {
  TestServer server;
  server.ranks.ready = false;
  server.ranks.die("gone");
  ASSERT_TRUE(eventually([&] { return server.engine->status().state == GroupState::restarting; }));
  const TestResponse refused = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(refused.status, 503);
  EXPECT_FALSE(TestClient::header(refused.head, "Retry-After").empty());
  EXPECT_EQ(server.ask("GET", "/health").status, 503);
  server.ranks.ready = true;
  EXPECT_TRUE(eventually([&] { return server.ask("GET", "/health").status == 200; }));
}

TEST(Resilience, TakesAGroupThatAnswersNonsenseForDead) {
  TestServer server;
  server.ranks.answers_nonsense = true;
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", hello).status, 503);
  server.ranks.answers_nonsense = false;
  ASSERT_TRUE(eventually([&] { return server.engine->status().state == GroupState::ready; }));
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", hello).status, 200);
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
  const TestResponse failed = server.ask("POST", "/v1/chat/completions", hello);
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("was not answered"));
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
