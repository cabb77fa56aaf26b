// A blocking HTTP client for tests: sends bytes as told, reads whole responses. Only included by
// tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dure {

struct TestResponse {
  int status = 0;
  std::string head;
  std::string body;

  // The data of each server-sent event.
  std::vector<std::string> events() const {
    std::vector<std::string> list;
    constexpr std::string_view prefix = "data: ";
    for (size_t at = 0; (at = body.find(prefix, at)) != std::string::npos;) {
      const size_t end = body.find("\n\n", at);
      list.push_back(body.substr(at + prefix.size(), end - at - prefix.size()));
      at = end;
    }
    return list;
  }
};

class TestClient {
 public:
  explicit TestClient(uint16_t port) : TestClient(port, Later{}) { connect(); }
  struct Later {};  // has its descriptor, and connects when told
  TestClient(uint16_t port, Later)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), port_(port) {}

  void connect() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    const timeval limit{20, 0};  // a test that waits longer has failed
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  ~TestClient() { close(); }
  TestClient(TestClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        port_(other.port_),
        connected_(other.connected_),
        unread_(std::move(other.unread_)) {}
  TestClient& operator=(TestClient&&) = delete;

  bool connected() const { return connected_; }
  int descriptor() const { return socket_; }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  void send_request(std::string_view method, std::string_view path, std::string_view body = "",
                    std::string_view headers = "") {
    send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" +
         std::string(headers) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body));
  }

  // Nothing when the connection ends (or 20 s pass) before a whole response is there.
  std::optional<TestResponse> read_response() {
    TestResponse response;
    size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return std::nullopt;
    }
    response.head = unread_.substr(0, end + 2);
    unread_.erase(0, end + 4);
    response.status = std::atoi(response.head.c_str() + 9);
    if (response.status == 100) return read_response();
    if (const std::string length = header(response.head, "Content-Length"); !length.empty()) {
      const size_t size = std::stoul(length);
      while (unread_.size() < size) {
        if (!read_more()) return std::nullopt;
      }
      response.body = unread_.substr(0, size);
      unread_.erase(0, size);
      return response;
    }
    if (header(response.head, "Transfer-Encoding") == "chunked") return read_chunks(response);
    while (read_more()) {
    }
    response.body = std::exchange(unread_, "");
    return response;
  }

  std::optional<TestResponse> ask(std::string_view method, std::string_view path,
                                  std::string_view body = "", std::string_view headers = "") {
    send_request(method, path, body, headers);
    return read_response();
  }

  // Whatever comes next, at least one byte; "" at the end.
  std::string read_some() {
    if (unread_.empty()) read_more();
    return std::exchange(unread_, "");
  }

  bool at_end() { return unread_.empty() && !read_more(); }

  static std::string header(const std::string& head, const std::string& name) {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + 2 + name.size() + 2;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

 private:
  bool read_more() {
    char bytes[8192];
    const ssize_t got = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    unread_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  std::optional<TestResponse> read_chunks(TestResponse response) {
    for (;;) {
      size_t line = 0;
      while ((line = unread_.find("\r\n")) == std::string::npos) {
        if (!read_more()) return std::nullopt;
      }
      const size_t size = std::stoul(unread_.substr(0, line), nullptr, 16);
      while (unread_.size() < line + 2 + size + 2) {
        if (!read_more()) return std::nullopt;
      }
      response.body += unread_.substr(line + 2, size);
      unread_.erase(0, line + 2 + size + 2);
      if (size == 0) return response;
    }
  }

  int socket_;
  uint16_t port_;
  bool connected_ = false;
  std::string unread_;
};

}  // namespace dure
