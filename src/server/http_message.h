// HTTP as the API's handlers see it: whole requests in, a response or a stream of events out. No
// sockets in here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dure {

struct HttpRequest {
  std::string id;      // the client's X-Request-Id, or one of our own
  std::string method;  // "GET"
  std::string path;    // without the query
  std::string body;
  std::string authorization;
  std::string origin;                  // of the page whose script sent it; empty: no page
  bool asks_preflight = false;         // a browser asks whether it may send the real request
  std::shared_ptr<const void> hold{};  // what counts the body's bytes while they are kept
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // beside the usual ones
};

// The answer to one request. Exactly one of reply() or start_stream() … finish_stream() is called,
// by any thread; calls after the client has gone do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void reply(HttpResponse response) = 0;

  // 200 with server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
  virtual void start_stream() = 0;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish_stream() = 0;

  // `closed` is called once if the client goes, or falls too far behind, before the answer is
  // complete; at once if that has happened already.
  virtual void when_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const = 0;  // so that nobody works for a client that has gone
};

using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<Exchange>)>;

}  // namespace dure
