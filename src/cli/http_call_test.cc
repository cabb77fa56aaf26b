// Answers as servers send them.
#include "cli/http_call.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "server/http_server.h"

namespace dure {
namespace {

TEST(HttpCall, ReadsWholeAndChunkedAnswers) {
  HttpOptions options;
  options.port = 0;
  HttpServer server(options, [](HttpRequest request, std::shared_ptr<Exchange> exchange) {
    if (request.path == "/whole") {
      HttpResponse response;
      response.status = 404;
      response.body = request.body;
      return exchange->reply(std::move(response));
    }
    exchange->start_stream();
    for (int i = 0; i < 3; ++i) exchange->write("piece " + std::to_string(i) + "\n");
    exchange->finish_stream();
  });
  const HttpUrl url = parse_url("127.0.0.1:" + std::to_string(server.port()));
  HttpCall whole(url, "POST", "/whole", "", "body");
  EXPECT_EQ(whole.status(), 404);
  EXPECT_EQ(whole.read_all(), "body");
  HttpCall chunked(url, "GET", "/stream", "", "");
  EXPECT_EQ(chunked.status(), 200);
  EXPECT_EQ(chunked.read_all(), "piece 0\npiece 1\npiece 2\n");
}

TEST(HttpCall, SaysWhenNobodyListens) {
  uint16_t port = 0;
  {
    HttpOptions options;
    options.port = 0;
    port = HttpServer(options, [](HttpRequest, std::shared_ptr<Exchange>) {}).port();
  }
  try {
    HttpCall(parse_url("127.0.0.1:" + std::to_string(port)), "GET", "/", "", "");
    FAIL() << "somebody answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace
}  // namespace dure
