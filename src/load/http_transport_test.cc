// Real sockets: what the server sends is what is recorded, in its order, whatever it is.
#include "load/http_transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "load/fake_server.h"
#include "load/load_run.h"
#include "load/server_probe.h"

namespace dure::load {
namespace {

using testing::FakeConnection;
using testing::FakeServer;

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";

std::string chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

std::string text_event() {
  return "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n";
}

const std::string end_events =
    "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n"
    "data: [DONE]\n\n";

std::string whole_answer(int tokens) {
  std::string answer(stream_head);
  for (int i = 0; i < tokens; ++i) answer += chunk(text_event());
  return answer + chunk(end_events) + std::string(last_chunk);
}

HttpTransportOptions to(const FakeServer& server, double silence_s = 20.0) {
  HttpTransportOptions options;
  options.url = parse_url(fmt::format("127.0.0.1:{}", server.port()));
  options.silence_timeout_s = silence_s;
  return options;
}

WorkloadSpec load_of(int clients, int64_t requests) {
  WorkloadSpec spec;
  spec.concurrency = clients;
  spec.requests = requests;
  spec.input = Lengths(4);
  spec.output = Lengths(8);
  return spec;
}

LoadSettings settings() {
  LoadSettings made;
  made.members = "\"model\":\"m\"";
  return made;
}

LoadResult run(const HttpTransportOptions& options, WorkloadSpec spec) {
  HttpTransport transport(options);
  return LoadRun(transport, settings(), Workload(std::move(spec)), std::nullopt).run();
}

TEST(HttpTransport, SendsRequestsThatAServerCanRead) {
  std::string seen;
  FakeServer server([&](FakeConnection& connection) {
    if (const auto request = connection.read_request()) seen = *request;
    connection.send(whole_answer(3));
  });
  HttpTransportOptions options = to(server);
  options.api_key = "secret";
  const LoadResult result = run(options, load_of(1, 1));
  ASSERT_EQ(result.records.size(), 1);
  EXPECT_EQ(result.records[0].outcome, Outcome::completed);
  EXPECT_EQ(result.records[0].arrivals_s.size(), 3);
  EXPECT_THAT(seen, ::testing::StartsWith("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(seen, ::testing::HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
  EXPECT_THAT(seen, ::testing::EndsWith("\"max_tokens\":8,\"model\":\"m\"}"));
}

// The server waits after the third token: a client that only sees a token when the next one comes
// would never leave.
TEST(HttpTransport, ATokenIsSeenBeforeTheNextOneIsSent) {
  std::atomic<int> left = 0;
  FakeServer server([&](FakeConnection& connection) {
    if (!connection.read_request()) return;
    connection.send(stream_head);
    for (int i = 0; i < 3; ++i) connection.send(chunk(text_event()));
    left += connection.client_leaves() ? 1 : 0;
  });
  WorkloadSpec spec = load_of(4, 40);
  spec.output = Lengths(4);
  spec.cancel_fraction = 1.0;
  Workload expected(spec);
  std::vector<size_t> after;
  while (const auto plan = expected.next())
    after.push_back(static_cast<size_t>(*plan->cancel_after));
  EXPECT_THAT(after, ::testing::Contains(3));
  const LoadResult result = run(to(server), spec);
  ASSERT_EQ(result.records.size(), 40);
  for (const Record& record : result.records) {
    EXPECT_EQ(record.outcome, Outcome::cancelled);
    EXPECT_EQ(record.arrivals_s.size(), after[static_cast<size_t>(record.number)]);
  }
  while (left < std::count_if(
                    after.begin(), after.end(), [](size_t n) { return n > 0; })) {
    std::this_thread::yield();
  }
}

TEST(HttpTransport, UsesAConnectionAgain) {
  FakeServer server([](FakeConnection& connection) {
    while (connection.read_request()) connection.send(whole_answer(2));
  });
  EXPECT_EQ(run(to(server), load_of(1, 20)).records.size(), 20);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpTransport, ReplacesAConnectionThatTheServerClosedMeanwhile) {
  FakeServer server([](FakeConnection& connection) {
    if (connection.read_request()) connection.send(whole_answer(2));
  });
  for (const Record& record : run(to(server), load_of(3, 60)).records) {
    EXPECT_EQ(record.outcome, Outcome::completed) << record.detail;
  }
  EXPECT_EQ(server.connections(), 60);
}

TEST(HttpTransport, ReadsAnswersFramedInEveryWay) {
  const std::string body = text_event() + text_event() + end_events;
  std::string crumbs(stream_head);
  for (const char letter : body) crumbs += chunk({&letter, 1});
  crumbs += last_chunk;
  const std::string plain = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  for (const std::string& answer :
       {crumbs, fmt::format("{}Content-Length: {}\r\n\r\n{}", plain, body.size(), body),
        plain + "\r\n" + body,
        "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n" + body}) {
    FakeServer server([&](FakeConnection& connection) {
      if (connection.read_request()) connection.send(answer);
    });
    const LoadResult result = run(to(server), load_of(1, 2));
    ASSERT_EQ(result.records.size(), 2);
    for (const Record& record : result.records) {
      EXPECT_EQ(record.outcome, Outcome::completed) << answer << record.detail;
      EXPECT_EQ(record.arrivals_s.size(), 2);
    }
  }
}

TEST(HttpTransport, NamesEveryWayInWhichAServerFails) {
  const std::string begun = std::string(stream_head) + chunk(text_event());
  struct Case {
    const char* what;
    std::string answer;
    bool stays;  // silent, instead of hanging up
    Trouble trouble;
  };
  const Case cases[] = {
      {"hangs up", "", false, Trouble::hung_up},
      {"hangs up in the header", "HTTP/1.1 200 OK\r\nCont", false, Trouble::hung_up},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", false, Trouble::not_http},
      {"cut between chunks", begun, false, Trouble::cut},
      {"cut inside a chunk", begun + "ff\r\ndata: {", false, Trouble::cut},
      {"a chunk that is none", begun + "zz\r\n", false, Trouble::cut},
      {"rubbish in the stream", std::string(stream_head) + chunk("data: <html>\n\n"), false,
       Trouble::bad_event},
      {"no stream", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
       false, Trouble::not_a_stream},
      {"a refusal", "HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nfull",
       true, Trouble::status},
      {"silent from the first", "", true, Trouble::timed_out},
      {"silent in the header", "HTTP/1.1 200", true, Trouble::timed_out},
      {"silent in the stream", begun, true, Trouble::timed_out},
  };
  for (const Case& failing : cases) {
    FakeServer server([&](FakeConnection& connection) {
      if (!connection.read_request()) return;
      connection.send(failing.answer);
      if (failing.stays) connection.client_leaves();
    });
    const LoadResult result =
        run(to(server, failing.trouble == Trouble::timed_out ? 0.05 : 20.0), load_of(1, 1));
    ASSERT_EQ(result.records.size(), 1) << failing.what;
    EXPECT_EQ(result.records[0].trouble, failing.trouble)
        << failing.what << ": " << to_string(result.records[0].trouble) << " "
        << result.records[0].detail;
  }
}

TEST(HttpTransport, ReadsTheRefusalOfARequestThatWasNotReadWhole) {
  FakeServer server([](FakeConnection& connection) {
    connection.send(
        "HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large");
    connection.client_leaves();
  });
  WorkloadSpec spec = load_of(1, 1);
  spec.input = Lengths(3'000'000);
  const LoadResult result = run(to(server), spec);
  EXPECT_EQ(result.records[0].status, 413);
  EXPECT_EQ(result.records[0].detail, "too large");
}

TEST(HttpTransport, SaysWhenNobodyListens) {
  uint16_t port = 0;
  {
    port = FakeServer([](FakeConnection&) {}).port();
  }
  HttpTransportOptions options;
  options.url = parse_url(fmt::format("127.0.0.1:{}", port));
  const LoadResult result = run(options, load_of(2, 2));
  ASSERT_EQ(result.records.size(), 2);
  EXPECT_EQ(result.records[0].trouble, Trouble::not_reached);
  EXPECT_NE(result.records[0].detail, "");
  options.url.host = "no-such-host.invalid";
  EXPECT_THROW(HttpTransport{options}, Error);
}

TEST(HttpTransport, ManyStreamsAtOnceAllEnd) {
  FakeServer server([](FakeConnection& connection) {
    while (connection.read_request()) {
      connection.send(stream_head);
      for (int i = 0; i < 20; ++i) connection.send(chunk(text_event()));
      connection.send(chunk(end_events) + std::string(last_chunk));
    }
  });
  WorkloadSpec spec = load_of(300, 900);
  const LoadResult result = run(to(server), spec);
  ASSERT_EQ(result.records.size(), 900);
  for (const Record& record : result.records) {
    EXPECT_EQ(record.outcome, Outcome::completed) << record.detail;
    EXPECT_EQ(record.arrivals_s.size(), 20);
  }
}

TEST(HttpTransport, StoppingFromAnotherThreadEndsAtOnce) {
  std::atomic<bool> asked = false;
  FakeServer server([&](FakeConnection& connection) {
    if (!connection.read_request()) return;
    connection.send(std::string(stream_head) + chunk(text_event()));
    asked = true;
    connection.client_leaves();
  });
  HttpTransport transport(to(server, 3600.0));
  LoadRun load(transport, settings(), Workload(load_of(1, 5)), std::nullopt);
  std::thread stopper([&] {
    while (!asked) std::this_thread::yield();
    load.stop();
  });
  const LoadResult result = load.run();
  stopper.join();
  EXPECT_TRUE(result.stopped);
  ASSERT_EQ(result.records.size(), 1);
  EXPECT_EQ(result.records[0].outcome, Outcome::interrupted);
}

// A server of one fixed answer to everything.
std::string answered(int status, std::string_view body) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

TEST(ServerProbe, FindsTheModelAndTheWordsOfAServer) {
  FakeServer server([](FakeConnection& connection) {
    while (const auto request = connection.read_request()) {
      if (request->starts_with("GET /a/v1/models ")) {
        connection.send(answered(200, R"({"data":[{"id":"m-1"},{"id":"m-2"}]})"));
      } else if (request->find("\"content\"") != std::string::npos) {  // as llama-server
        std::string ids;
        for (int i = 0; i < 2 * word_sample_size(); ++i) ids += std::to_string(i % 50) + ",";
        ids.pop_back();
        connection.send(answered(200, "{\"tokens\":[" + ids + "]}"));
      } else {
        connection.send(answered(200, R"({"tokens":[]})"));
      }
    }
  });
  HttpTransport transport(to(server));
  EXPECT_EQ(first_model(transport, "/a"), "m-1");
  const PromptStyle style = learn_style(transport, "/a", "m-1", false);
  EXPECT_EQ(style.alphabet.size(), 50);
  EXPECT_DOUBLE_EQ(style.tokens_per_word, 2.0);
}

TEST(ServerProbe, RefusesWhatIsNoServerOfModels) {
  struct Case {
    std::string answer;
    ErrorCode code;
  };
  for (const Case& odd :
       {Case{answered(200, "<html>"), ErrorCode::failed},
        Case{answered(200, R"({"data":[]})"), ErrorCode::failed},
        Case{answered(401, R"({"error":{"message":"no key"}})"), ErrorCode::bad_input},
        Case{answered(404, "?"), ErrorCode::bad_input},
        Case{answered(503, "loading"), ErrorCode::unavailable},
        Case{"220 mail ready\r\n", ErrorCode::failed}, Case{"", ErrorCode::unavailable}}) {
    FakeServer server([&](FakeConnection& connection) {
      if (connection.read_request()) connection.send(odd.answer);
    });
    HttpTransport transport(to(server));
    try {
      first_model(transport, "");
      ADD_FAILURE() << odd.answer;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), odd.code) << odd.answer << error.message();
    }
    EXPECT_TRUE(learn_style(transport, "", "m", false).alphabet.empty()) << odd.answer;
  }
}

}  // namespace
}  // namespace dure::load
