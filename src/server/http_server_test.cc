// The listener against clients that misbehave.
#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "server/test_http_client.h"
#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

HttpOptions quick() {
  HttpOptions options;
  options.port = 0;
  options.header_timeout = std::chrono::milliseconds(300);
  options.body_timeout = std::chrono::milliseconds(300);
  options.idle_timeout = std::chrono::milliseconds(600);
  return options;
}

// Answers with the method, path and body it got.
void echo(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path + " " + request.body;
  exchange->reply(std::move(response));
}

TEST(HttpServer, ServesManyRequestsOnOneConnection) {
  HttpServer server(quick(), echo);
  TestClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    const std::optional<TestResponse> response = client.ask("POST", "/a?b=c", "body");
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "POST /a body");
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  HttpServer server(quick(), echo);
  TestClient client(server.port());
  client.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /4 HTTP/1.1\r\nHost: x\r\n"
      "Connection: close\r\n\r\n");
  for (const char* body : {"GET /1 ", "GET /2 ", "POST /3 hi", "GET /4 "}) {
    const std::optional<TestResponse> response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, body);
  }
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, ReadsChunkedBodiesAndRefusesBrokenOnes) {
  HttpServer server(quick(), echo);
  TestClient good(server.port());
  good.send(
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
      "0\r\n\r\n");
  EXPECT_EQ(good.read_response()->body, "POST /c abcde");
  for (const char* body :
       {"zz\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc", "3\r\nabcdef\r\n", "-1\r\n\r\n"}) {
    TestClient bad(server.port());
    bad.send("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
             std::string(body));
    const std::optional<TestResponse> response = bad.read_response();
    ASSERT_TRUE(response) << body;
    EXPECT_TRUE(response->status == 400 || response->status == 413) << body;
    EXPECT_TRUE(bad.at_end());
  }
}

TEST(HttpServer, RefusesWhatIsNotHttpInTheShapeOfOpenAi) {
  HttpServer server(quick(), echo);
  for (const char* bytes :
       {"\x16\x03\x01\x02\x00 hello\r\n\r\n", "GET\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
        "x\r\n\r\n0\r\n\r\n"}) {
    TestClient client(server.port());
    client.send(bytes);
    const std::optional<TestResponse> response = client.read_response();
    ASSERT_TRUE(response) << bytes;
    EXPECT_EQ(response->status, 400) << bytes;
    EXPECT_THAT(response->body, HasSubstr("\"error\"")) << bytes;
    EXPECT_TRUE(client.at_end());
  }
}

TEST(HttpServer, RefusesHeadersAndBodiesAboveItsLimits) {
  HttpOptions options = quick();
  options.max_body_bytes = 1000;
  HttpServer server(options, echo);
  TestClient header(server.port());
  header.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(header.read_response()->status, 431);
  TestClient body(server.port());
  body.send_request("POST", "/", std::string(1001, 'x'));
  EXPECT_EQ(body.read_response()->status, 413);
  TestClient chunked(server.port());
  chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
               std::string(2000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.read_response()->status, 413);
  TestClient fits(server.port());
  fits.send_request("POST", "/", std::string(1000, 'x'));
  EXPECT_EQ(fits.read_response()->status, 200);
}

TEST(HttpServer, HangsUpOnClientsThatSendTooSlowly) {
  HttpServer server(quick(), echo);
  TestClient slow_header(server.port());
  slow_header.send("GET / HT");
  EXPECT_EQ(slow_header.read_response()->status, 408);
  EXPECT_TRUE(slow_header.at_end());
  TestClient slow_body(server.port());
  slow_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow_body.read_response()->status, 408);
  EXPECT_TRUE(slow_body.at_end());
  TestClient idle(server.port());
  EXPECT_TRUE(idle.at_end());
}

TEST(HttpServer, DripsDoNotExtendTheTimeForAHeader) {
  HttpServer server(quick(), echo);
  TestClient drip(server.port());
  // A byte every 50 ms for up to 20 s; the server must hang up after 0.3 s.
  bool open = drip.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
  int bytes = 0;
  for (; open && bytes < 400; ++bytes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    open = drip.send("x");
  }
  EXPECT_LT(bytes, 400);
}

TEST(HttpServer, SaysContinueToClientsThatAsk) {
  HttpServer server(quick(), echo);
  TestClient client(server.port());
  client.send("POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_THAT(client.read_some(), HasSubstr("100 Continue"));
  client.send("ok");
  EXPECT_EQ(client.read_response()->body, "POST /e ok");
}

TEST(HttpServer, SpeaksHttp10) {
  HttpServer server(quick(), [](HttpRequest, std::shared_ptr<Exchange> exchange) {
    exchange->start_stream();
    exchange->write("data: 1\n\n");
    exchange->finish_stream();
  });
  TestClient client(server.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::optional<TestResponse> response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "data: 1\n\n");
  EXPECT_THAT(response->head, HasSubstr("Connection: close"));
}

TEST(HttpServer, SendsNoBodyToHead) {
  HttpServer server(quick(), echo);
  TestClient client(server.port());
  client.send("HEAD /h HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string bytes = client.read_some();
  EXPECT_THAT(bytes, HasSubstr("Content-Length: 7"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
}

TEST(HttpServer, RefusesAPortThatIsInUse) {
  HttpServer first(quick(), echo);
  HttpOptions same = quick();
  same.port = first.port();
  try {
    HttpServer second(same, echo);
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_THAT(error.message(), HasSubstr("in use"));
    EXPECT_FALSE(error.hint().empty());
  }
  HttpOptions nowhere = quick();
  nowhere.host = "256.1.1.1";
  EXPECT_THROW(HttpServer(nowhere, echo), Error);
}

TEST(HttpServer, HoldsManyIdleConnectionsAndStillAnswers) {
  HttpOptions options = quick();
  options.idle_timeout = std::chrono::minutes(1);
  HttpServer server(options, echo);
  std::vector<TestClient> idle;
  for (int i = 0; i < 400; ++i) idle.emplace_back(server.port());
  for (const TestClient& client : idle) ASSERT_TRUE(client.connected());
  EXPECT_EQ(TestClient(server.port()).ask("GET", "/x")->status, 200);
  EXPECT_EQ(idle.back().ask("GET", "/y")->body, "GET /y ");
}

TEST(HttpServer, RefusesConnectionsAboveItsLimit) {
  HttpOptions options = quick();
  options.max_connections = 2;
  options.idle_timeout = std::chrono::minutes(1);
  HttpServer server(options, echo);
  TestClient first(server.port());
  TestClient second(server.port());
  EXPECT_EQ(first.ask("GET", "/")->status, 200);
  EXPECT_EQ(second.ask("GET", "/")->status, 200);
  TestClient third(server.port());
  EXPECT_EQ(third.read_response()->status, 503);
  first.close();
  EXPECT_TRUE(eventually([&] {
    const auto response = TestClient(server.port()).ask("GET", "/");
    return response && response->status == 200;
  }));
}

TEST(HttpServer, TellsTheHandlerWhenItsClientLeaves) {
  std::atomic<bool> left{false};
  HttpServer server(quick(), [&](HttpRequest, std::shared_ptr<Exchange> exchange) {
    exchange->when_closed([&left, exchange] { left = true; });
  });
  TestClient client(server.port());
  client.send_request("GET", "/");
  client.close();
  EXPECT_TRUE(eventually([&] { return left.load(); }));
}

TEST(HttpServer, EndsConnectionsAfterTheirAnswerOnceItStopsAccepting) {
  std::mutex mutex;
  std::shared_ptr<Exchange> held;
  HttpServer server(quick(), [&](HttpRequest, std::shared_ptr<Exchange> exchange) {
    const std::lock_guard lock(mutex);
    held = std::move(exchange);
  });
  TestClient client(server.port());
  client.send_request("GET", "/");
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return held != nullptr;
  }));
  server.stop_accepting();
  EXPECT_FALSE(server.wait_answered(std::chrono::milliseconds(20)));
  held->reply(HttpResponse{});
  held.reset();  // no exchange may outlive its server
  EXPECT_EQ(client.read_response()->status, 200);
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(server.wait_answered(std::chrono::seconds(20)));
  EXPECT_TRUE(eventually([&] { return !TestClient(server.port()).connected(); }));
}

}  // namespace
}  // namespace dure
