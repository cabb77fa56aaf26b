// Listens on one address and turns connections into requests for a handler. Bounded in every
// direction: connections, header and body sizes, time to send them, idle time, bytes a slow reader
// may be behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/access_log.h"
#include "server/http_message.h"

namespace dure {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;  // 0: any free one
  int threads = 2;
  int max_connections = 4096;  // fewer where the process may not have so many descriptors
  uint32_t max_header_bytes = 16 << 10;
  uint64_t max_body_bytes = 8 << 20;
  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte
  std::chrono::milliseconds body_timeout{60'000};    // from the end of the header
  std::chrono::milliseconds idle_timeout{75'000};    // between requests
  std::chrono::milliseconds write_timeout{30'000};   // without the client taking a byte
  // Of all clients together. Who holds more than an equal part is cut off when they are passed.
  size_t max_unread_bytes = size_t{512} << 20;  // of requests that were not handled yet
  size_t max_unsent_bytes = size_t{256} << 20;  // of answers
  std::vector<std::string> cors_origins{};      // pages that may read answers; "*": all
  std::function<void(const AccessRecord&)> on_request_over{};  // on the server's threads
  std::function<void(const std::string&)> warn{};  // of trouble that is nobody's request; once each
};

class HttpServer {
 public:
  // Binds and starts to serve. Throws bad_input when the address cannot be resolved or is in use.
  // The handler runs on the server's threads and must not block.
  HttpServer(const HttpOptions& options, HttpHandler handler);
  ~HttpServer();

  uint16_t port() const;        // the one bound
  int max_connections() const;  // as options say, or as many as there are descriptors for

  // No new connections; the others end after the answer they are waiting for.
  void stop_accepting();
  // Waits until every answer under way is sent, at most this long; true if so.
  bool wait_answered(std::chrono::milliseconds at_most);
  // Ends all connections and threads. Exchanges do nothing after this; none may outlive the server.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
