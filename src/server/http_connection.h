// One connection: reads requests, has them handled, sends the answers.
#pragma once

#include <atomic>
#include <memory>

#include "server/http_server.h"

namespace boost::asio {
class io_context;
}

namespace dure {

// What all connections of a server share.
struct ConnectionContext {
  HttpOptions options;
  HttpHandler handler;
  std::atomic<int> connections{0};
  std::atomic<int> answering{0};
  std::atomic<bool> draining{false};
};

// Takes over the accepted socket and serves it as a coroutine on a strand of its own.
void start_connection(boost::asio::io_context& io, int descriptor,
                      std::shared_ptr<ConnectionContext> context);

// Says 503 and hangs up: the server has as many connections as it takes.
void refuse_connection(boost::asio::io_context& io, int descriptor);

}  // namespace dure
