// The listener and its threads; each connection is a coroutine on a strand of its own.
#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "base/error.h"
#include "server/http_connection.h"

namespace dure {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Every connection is a file descriptor; the usual soft limit of 1024 is there for select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

tcp::endpoint resolve(asio::io_context& io, const HttpOptions& options) {
  error_code error;
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw_bad_input(fmt::format("--host {}: {}", options.host, error.message()),
                    "use an address of this machine: 127.0.0.1, or 0.0.0.0 for all");
  }
  // "localhost" is both ::1 and 127.0.0.1: the latter is what clients are told most often.
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  }
  return found.begin()->endpoint();
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpOptions& options, HttpHandler handler)
      : context(std::make_shared<ConnectionContext>()),
        acceptor(asio::make_strand(io)),
        guard(io.get_executor()) {
    context->options = options;
    context->handler = std::move(handler);
  }

  void listen() {
    const HttpOptions& options = context->options;
    const tcp::endpoint endpoint = resolve(io, options);
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error == asio::error::address_in_use) {
      throw_bad_input(fmt::format("port {} of {} is in use", options.port, options.host),
                      "stop the program that listens there, or choose another --port");
    }
    if (error) {
      throw_bad_input(fmt::format("cannot listen on {} port {}: {}", options.host, options.port,
                                  error.message()));
    }
    port = acceptor.local_endpoint().port();
  }

  asio::awaitable<void> accept() {
    for (;;) {
      error_code error;
      tcp::socket socket =
          co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor.is_open()) co_return;
      if (error) {  // out of descriptors, most likely: connections that end make room
        asio::steady_timer pause(io, std::chrono::milliseconds(50));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      const int descriptor = socket.release();
      if (context->connections < context->options.max_connections) {
        start_connection(io, descriptor, context);
      } else {
        refuse_connection(io, descriptor);
      }
    }
  }

  asio::io_context io;
  std::shared_ptr<ConnectionContext> context;
  tcp::acceptor acceptor;  // on a strand: closed from outside while it accepts
  uint16_t port = 0;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {
  raise_descriptor_limit();
  impl_->listen();
  asio::co_spawn(impl_->acceptor.get_executor(), impl_->accept(), asio::detached);
  for (int i = 0; i < options.threads; ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->io.run(); });
  }
}

HttpServer::~HttpServer() {
  stop();
}

uint16_t HttpServer::port() const {
  return impl_->port;
}

void HttpServer::stop_accepting() {
  impl_->context->draining = true;
  asio::post(impl_->acceptor.get_executor(), [impl = impl_.get()] {
    error_code ignored;
    impl->acceptor.close(ignored);
  });
}

bool HttpServer::wait_answered(std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (impl_->context->answering > 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void HttpServer::stop() {
  impl_->io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
}

}  // namespace dure
