// One connection: reads requests, has them handled, sends the answers. Included only by the files
// that know Asio.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "server/http_server.h"

namespace dure {

// What all connections of a server share.
struct ConnectionContext {
  HttpOptions options;
  HttpHandler handler;
  std::atomic<int> connections{0};
  std::atomic<int> answering{0};
  std::atomic<bool> draining{false};
};

// Runs on `socket`'s executor, a strand.
boost::asio::awaitable<void> serve_connection(boost::asio::ip::tcp::socket socket,
                                              std::shared_ptr<ConnectionContext> context);

// Says 503 and hangs up: the server has as many connections as it takes.
boost::asio::awaitable<void> refuse_connection(boost::asio::ip::tcp::socket socket);

}  // namespace dure
