// The listener and its threads; each connection is a coroutine on a strand of its own.
#include "server/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
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
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "server/http_connection.h"

namespace dure {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// What the rest of the process needs beside connections: ranks that are started again, files.
constexpr int other_descriptors = 128;
constexpr int most_lingering = 64;  // refused connections that are told so with care

// Every connection is a file descriptor; the usual soft limit of 1024 is there for select(). Not
// without bound: programs that are started inherit it, and some close all that there could be.
rlim_t raise_descriptor_limit(int connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<rlim_t>(connections);
  const auto wanted = static_cast<rlim_t>(connections) + other_descriptors;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
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
      : context(std::make_shared<ConnectionContext>(options, std::move(handler))),
        acceptor(asio::make_strand(io)),
        guard(io.get_executor()) {
    count_descriptors();
  }

  void count_descriptors() {
    const int wanted = context->options.max_connections;
    const auto there = static_cast<int64_t>(
        std::min<rlim_t>(raise_descriptor_limit(wanted), std::numeric_limits<int>::max()));
    max_connections = static_cast<int>(
        std::clamp<int64_t>(there - other_descriptors, std::min(wanted, 16), wanted));
    if (max_connections < wanted) {
      warn(
          fmt::format("{} connections at most instead of {}: the process may have {} file "
                      "descriptors (ulimit -n)",
                      max_connections, wanted, there));
    }
    set_one_aside();
  }

  void set_one_aside() { spare = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  void warn(const std::string& what) const {
    if (context->options.warn) context->options.warn(what);
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
      if (error) {
        if (!refuse_with_the_spare_descriptor(error)) {
          asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(50));
          co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
        continue;
      }
      take(socket.release());
    }
  }

  void take(int descriptor) {
    const int connections = context->connections;
    if (connections < max_connections + most_lingering) {
      start_connection(io, descriptor, context, connections >= max_connections);
    } else {
      refuse_connection(descriptor);
    }
  }

  // Without a descriptor a connection cannot even be refused: it would wait in the kernel's queue.
  // So one is kept for that.
  bool refuse_with_the_spare_descriptor(error_code error) {
    if (error.value() != EMFILE && error.value() != ENFILE) return false;
    if (!std::exchange(said_no_descriptors, true)) {
      warn("connections are refused: no file descriptor is free (" +
           std::string(std::strerror(error.value())) + ")");
    }
    if (!spare) set_one_aside();
    if (!spare) return false;
    spare.reset();
    const int descriptor =
        ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) refuse_connection(descriptor);
    set_one_aside();
    return descriptor >= 0;
  }

  asio::io_context io;
  std::shared_ptr<ConnectionContext> context;
  tcp::acceptor acceptor;  // on a strand: closed from outside while it accepts
  uint16_t port = 0;
  int max_connections = 0;
  Descriptor spare;
  bool said_no_descriptors = false;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {
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

int HttpServer::max_connections() const {
  return impl_->max_connections;
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
