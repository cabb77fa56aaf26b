// Clients that leave, stop reading or come in great numbers: what the server notices and keeps.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <mutex>

#include "base/descriptor.h"
#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

HttpOptions patient() {
  HttpOptions options;
  options.port = 0;
  return options;
}

void reply_empty(HttpRequest, std::shared_ptr<Exchange> exchange) {
  exchange->reply(HttpResponse{});
}

// Answers nothing, and counts who comes and who leaves.
struct Silence {
  std::atomic<int> came{0};
  std::atomic<int> left{0};
  HttpHandler handler() {
    return [this](HttpRequest, std::shared_ptr<Exchange> exchange) {
      ++came;
      exchange->when_closed([this, exchange] { ++left; });
    };
  }
};

enum class Way { closes, resets, closes_its_sending_side, pipelines_and_closes };

void leave(TestClient& client, Way way) {
  if (way == Way::resets) {
    const linger at_once{1, 0};
    ::setsockopt(client.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  if (way == Way::pipelines_and_closes) client.send_request("GET", "/next");
  if (way == Way::closes_its_sending_side) {
    ::shutdown(client.descriptor(), SHUT_WR);
  } else {
    client.close();
  }
}

TEST(HttpLeaving, IsNoticedWhicheverWayTheClientGoes) {
  for (const Way way :
       {Way::closes, Way::resets, Way::closes_its_sending_side, Way::pipelines_and_closes}) {
    Silence silence;
    HttpServer server(patient(), silence.handler());
    TestClient client(server.port());
    client.send_request("POST", "/", "{}");
    ASSERT_TRUE(eventually([&] { return silence.came == 1; }));
    leave(client, way);
    EXPECT_TRUE(eventually([&] { return silence.left == 1; })) << static_cast<int>(way);
    EXPECT_EQ(silence.came, 1);
  }
}

TEST(HttpLeaving, BeforeTheBodyIsWholeReachesNoHandler) {
  Silence silence;
  HttpServer server(patient(), silence.handler());
  for (const Way way : {Way::closes, Way::resets, Way::closes_its_sending_side}) {
    TestClient client(server.port());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    leave(client, way);
    if (way == Way::closes_its_sending_side) EXPECT_TRUE(client.at_end());
  }
  TestClient last(server.port());
  last.send_request("GET", "/");
  EXPECT_TRUE(eventually([&] { return silence.came == 1; }));
  last.close();
  EXPECT_TRUE(eventually([&] { return silence.left == 1; }));
}

TEST(HttpLeaving, OfAStreamIsNoticedWhileNothingIsWritten) {
  std::atomic<bool> left{false};
  HttpServer server(patient(), [&](HttpRequest, std::shared_ptr<Exchange> exchange) {
    exchange->start_stream();
    exchange->write("data: 1\n\n");
    exchange->when_closed([&left, exchange] { left = true; });
  });
  TestClient client(server.port());
  client.send_request("GET", "/");
  EXPECT_THAT(client.read_some(), HasSubstr("200 OK"));
  client.close();
  EXPECT_TRUE(eventually([&] { return left.load(); }));
}

// Whole answers to one client that reads nothing; small ones to another that does.
TEST(HttpLeaving, AClientThatDoesNotReadIsCutOffAndHurtsNobody) {
  HttpOptions options = patient();
  options.write_timeout = std::chrono::milliseconds(300);
  std::mutex mutex;
  std::vector<AccessRecord> records;
  options.on_request_over = [&](const AccessRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  };
  HttpServer server(options, [](HttpRequest request, std::shared_ptr<Exchange> exchange) {
    HttpResponse response;
    response.body = std::string(request.path == "/large" ? 32 << 20 : 5, 'x');
    exchange->reply(std::move(response));
  });
  TestClient stuck(server.port());
  stuck.send_request("GET", "/large");
  TestClient other(server.port());
  const auto cut_off = [&] {
    const std::lock_guard lock(mutex);
    return std::any_of(records.begin(), records.end(), [](const AccessRecord& record) {
      return record.outcome == std::string("client_too_slow");
    });
  };
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(other.ask("GET", "/small")->body, "xxxxx");
    return cut_off();
  }));
}

TEST(HttpLeaving, BodiesThatNobodyFinishesAreBoundedOverAllClients) {
  HttpOptions options = patient();
  options.max_unread_bytes = 1 << 20;
  HttpServer server(options, reply_empty);
  std::vector<TestClient> hoarders;
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    hoarders.emplace_back(server.port());
    hoarders.back().send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n" +
                         std::string(399'999, 'x'));
  }
  // The first three fit; of the others, those above an equal part are told to go.
  for (TestClient& client : hoarders) {
    client.send("x");
    const std::optional<TestResponse> response = client.read_response();
    ASSERT_TRUE(response);
    if (response->status == 503) ++refused;
  }
  EXPECT_GE(refused, 1);
  TestClient small(server.port());
  EXPECT_EQ(small.ask("POST", "/", "{}")->status, 200);
}

int64_t resident_bytes() {
  int64_t size = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// Both ends are in this process, which can only make it look worse.
TEST(HttpLeaving, TwoThousandIdleConnectionsCostLittleMemory) {
  constexpr int connections = 2000;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 2 * connections + 200) {
    GTEST_SKIP() << "this process may have " << limit.rlim_max << " file descriptors";
  }
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2 * connections + 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  HttpServer server(patient(), reply_empty);
  ASSERT_GE(server.max_connections(), connections);
  EXPECT_EQ(TestClient(server.port()).ask("GET", "/")->status, 200);

  const int64_t before = resident_bytes();
  std::vector<TestClient> idle;
  idle.reserve(connections);
  // Every other one has asked something: its buffers must be gone as well.
  for (int i = 0; i < connections; ++i) {
    idle.emplace_back(server.port());
    ASSERT_TRUE(idle.back().connected());
    if (i % 2 == 0) {
      ASSERT_EQ(idle.back().ask("POST", "/", std::string(10'000, 'x'))->status, 200) << i;
    }
  }
  const int64_t grown = resident_bytes() - before;
  RecordProperty("bytes_per_connection", static_cast<int>(grown / connections));
  std::printf("2,000 idle connections: %.1f MB\n", static_cast<double>(grown) / 1e6);
  EXPECT_LT(grown, 100'000'000);
  EXPECT_EQ(idle.back().ask("GET", "/")->status, 200);
  EXPECT_EQ(idle.front().ask("GET", "/")->status, 200);
}

TEST(HttpLeaving, WithoutDescriptorsConnectionsAreRefusedInWordsAndTheServerRecovers) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  HttpOptions options = patient();
  options.max_connections = 100;
  options.warn = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    warnings.push_back(what);
  };
  HttpServer server(options, reply_empty);
  TestClient early(server.port());  // stays, so that no descriptor becomes free
  EXPECT_EQ(early.ask("GET", "/")->status, 200);

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<TestClient> clients;
  clients.reserve(4);
  for (int i = 0; i < 4; ++i) {  // sockets of this test, made before there are none left
    clients.emplace_back(server.port(), TestClient::Later{});
  }
  std::vector<Descriptor> hoard;
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (;;) {
    Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) break;
    hoard.push_back(std::move(one));
  }
  for (TestClient& client : clients) {
    client.connect();
    client.send_request("GET", "/");
    // Refused before the request was read: the words may be lost with the connection's reset.
    const std::optional<TestResponse> response = client.read_response();
    if (response) EXPECT_EQ(response->status, 503);
  }
  EXPECT_EQ(early.ask("GET", "/")->status, 200);
  hoard.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(eventually([&] {
    const auto response = TestClient(server.port()).ask("GET", "/");
    return response && response->status == 200;
  }));
  const std::lock_guard lock(mutex);
  EXPECT_THAT(warnings, ::testing::ElementsAre(HasSubstr("no file descriptor is free")));
}

TEST(HttpLeaving, ALineTooLongToReadIsRefusedInWordsTheClientCanRead) {
  HttpServer server(patient(), reply_empty);
  TestClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 10 && client.send(piece); ++i) {
  }
  const std::optional<TestResponse> response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 431);
}

TEST(HttpLeaving, EveryAnswerAndRefusalCarriesARequestId) {
  HttpServer server(patient(), [](HttpRequest request, std::shared_ptr<Exchange> exchange) {
    if (request.path == "/stream") {
      exchange->start_stream();
      exchange->write("data: 1\n\n");
      return exchange->finish_stream();
    }
    exchange->reply(HttpResponse{});
  });
  const auto id_of = [&](std::string_view path, std::string_view header) {
    const auto response = TestClient(server.port()).ask("GET", path, "", header);
    return TestClient::header(response->head, "X-Request-Id");
  };
  EXPECT_EQ(id_of("/", "X-Request-Id: mine-1\r\n"), "mine-1");
  EXPECT_EQ(id_of("/stream", "X-Request-Id: mine-2\r\n"), "mine-2");
  EXPECT_EQ(id_of("/", "").size(), 32u);
  EXPECT_EQ(id_of("/", "X-Request-Id: no way\r\n").size(), 32u);
  TestClient broken(server.port());
  broken.send("nonsense\r\n\r\n");
  EXPECT_EQ(TestClient::header(broken.read_response()->head, "X-Request-Id").size(), 32u);
}

TEST(HttpLeaving, BrowsersAreLetInOnlyFromOriginsThatWereNamed) {
  HttpOptions options = patient();
  options.cors_origins = {"https://chat.example"};
  HttpServer named(options, reply_empty);
  HttpServer closed(patient(), reply_empty);
  const auto allowed = [](const HttpServer& server, std::string_view method,
                          const std::string& headers) {
    const auto response = TestClient(server.port()).ask(method, "/", "", headers);
    return TestClient::header(response->head, "Access-Control-Allow-Origin");
  };
  const std::string good = "Origin: https://chat.example\r\n";
  EXPECT_EQ(allowed(named, "GET", good), "https://chat.example");
  EXPECT_EQ(allowed(named, "OPTIONS", good + "Access-Control-Request-Method: POST\r\n"),
            "https://chat.example");
  EXPECT_EQ(allowed(named, "GET", "Origin: https://evil.example\r\n"), "");
  EXPECT_EQ(allowed(closed, "GET", good), "");
}

}  // namespace
}  // namespace dure
