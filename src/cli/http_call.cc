// See http_call.h.
#include "cli/http_call.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

constexpr size_t most_header_bytes = 64 << 10;

int connect_to(const HttpUrl& url) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &wanted, &found);
  if (failure != 0) {
    throw_bad_input(fmt::format("{}: {}", url.host, ::gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int made = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) continue;
    if (::connect(made, address->ai_addr, address->ai_addrlen) == 0) return made;
    ::close(made);
  }
  throw Error(ErrorCode::unavailable, fmt::format("{} port {}: nobody answers", url.host, url.port),
              "start a server with `dure serve MODEL`, or check the URL");
}

}  // namespace

HttpCall::HttpCall(const HttpUrl& url, std::string_view method, std::string_view path,
                   std::string_view headers, std::string_view body)
    : socket_(connect_to(url)) {
  const std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n{}\r\n{}",
      method, path, url.host, url.port, body.size(), headers, body);
  for (std::string_view rest = request; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;  // the answer says why, if there is one
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  try {
    read_header(url.host);
  } catch (...) {
    ::close(socket_);
    throw;
  }
}

HttpCall::~HttpCall() {
  ::close(socket_);
}

bool HttpCall::receive() {
  std::array<char, 16384> bytes;
  const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  received_.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

void HttpCall::read_header(std::string_view where) {
  size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (received_.size() > most_header_bytes || !receive()) {
      throw Error(ErrorCode::unavailable, fmt::format("{} hung up without an answer", where));
    }
  }
  std::string head = received_.substr(0, end);
  received_.erase(0, end + 4);
  const auto parsed = std::from_chars(head.data() + std::min<size_t>(9, head.size()),
                                      head.data() + head.size(), status_);
  if (!head.starts_with("HTTP/1.") || parsed.ec != std::errc()) {
    throw Error(ErrorCode::failed, fmt::format("{} does not speak HTTP", where));
  }
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  chunked_ = head.find("\r\ntransfer-encoding: chunked") != std::string::npos;
}

// Part of a chunk, as much as has come; "" if that is nothing yet.
std::string HttpCall::take_chunk() {
  if (chunk_left_ == 0) {
    const size_t begin = received_.starts_with("\r\n") ? 2 : 0;
    const size_t line = received_.find("\r\n", begin);
    if (line == std::string::npos) return "";
    const auto parsed =
        std::from_chars(received_.data() + begin, received_.data() + line, chunk_left_, 16);
    received_.erase(0, line + 2);
    ended_ = parsed.ec != std::errc() || chunk_left_ == 0;
    if (ended_) return "";
  }
  std::string piece = received_.substr(0, chunk_left_);
  received_.erase(0, piece.size());
  chunk_left_ -= piece.size();
  return piece;
}

std::string HttpCall::read_some() {
  while (!ended_) {
    std::string piece = chunked_ ? take_chunk() : std::exchange(received_, "");
    if (!piece.empty()) return piece;
    if (!ended_ && !receive()) ended_ = true;
  }
  return "";
}

std::string HttpCall::read_all() {
  std::string all;
  for (std::string piece; !(piece = read_some()).empty();) all += piece;
  return all;
}

}  // namespace dure
