// One connection: reads requests, has them handled, sends the answers.
#pragma once

#include <atomic>
#include <memory>

#include "server/http_server.h"
#include "server/shared_bytes.h"

namespace boost::asio {
class io_context;
}

namespace dure {

// What all connections of a server share.
struct ConnectionContext {
  ConnectionContext(const HttpOptions& chosen, HttpHandler called)
      : options(chosen),
        handler(std::move(called)),
        unread(std::make_shared<SharedBytes>(options.max_unread_bytes)),
        unsent(std::make_shared<SharedBytes>(options.max_unsent_bytes)) {}

  const HttpOptions options;
  const HttpHandler handler;
  const std::shared_ptr<SharedBytes> unread;
  const std::shared_ptr<SharedBytes> unsent;
  std::atomic<int> connections{0};
  std::atomic<int> answering{0};
  std::atomic<bool> draining{false};
};

// Takes over the accepted socket and serves it as a coroutine on a strand of its own; or, where the
// server has as many connections as it takes, says 503 and hangs up.
void start_connection(boost::asio::io_context& io, int descriptor,
                      std::shared_ptr<ConnectionContext> context, bool refused);

// Says 503 and hangs up without waiting for anything.
void refuse_connection(int descriptor);

}  // namespace dure
