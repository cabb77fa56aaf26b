// A server for tests that sends exactly the bytes it is told to, one thread for each connection.
// Only included by tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"

namespace dure::load::testing {

class FakeConnection {
 public:
  explicit FakeConnection(Descriptor socket) : socket_(std::move(socket)) {
    const timeval limit{20, 0};  // a test that waits longer has failed
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }

  // Head and body of the next request; nothing once the client has gone.
  std::optional<std::string> read_request() {
    size_t end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return std::nullopt;
    }
    size_t size = end + 4;
    constexpr std::string_view field = "Content-Length: ";
    if (const size_t at = received_.find(field); at < end) {
      size_t body = 0;
      std::from_chars(received_.data() + at + field.size(), received_.data() + end, body);
      size += body;
    }
    while (received_.size() < size) {
      if (!receive()) return std::nullopt;
    }
    std::string request = received_.substr(0, size);
    received_.erase(0, size);
    return request;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // True when the client hangs up, false if it still has not after 20 s.
  bool client_leaves() {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }

 private:
  bool receive() {
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) received_.append(bytes.data(), static_cast<size_t>(got));
    return got > 0;
  }

  Descriptor socket_;
  std::string received_;
};

class FakeServer {
 public:
  using Serve = std::function<void(FakeConnection& connection)>;

  explicit FakeServer(Serve serve)
      : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    DURE_CHECK(::bind(listener_.get(), plain, size) == 0);
    DURE_CHECK(::listen(listener_.get(), 1024) == 0);
    DURE_CHECK(::getsockname(listener_.get(), plain, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~FakeServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept() {
    for (;;) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      ++connections_;
      threads_.emplace_back([this, made = std::move(socket)]() mutable {
        FakeConnection connection(std::move(made));
        serve_(connection);
      });
    }
  }

  Serve serve_;
  Descriptor listener_;
  uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace dure::load::testing
