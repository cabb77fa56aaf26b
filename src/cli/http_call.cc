// See http_call.h.
#include "cli/http_call.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

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
      "{} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n{}\r\n{}",
      method, path, authority_of(url), body.size(), headers, body);
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
  using State = HttpAnswerReader::State;
  if (answer_.state() != State::head && answer_.state() != State::body) return false;
  std::array<char, 16384> bytes;
  const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got < 0) return false;
  if (got == 0) answer_.close();
  answer_.feed({bytes.data(), static_cast<size_t>(got)}, body_);
  return true;
}

void HttpCall::read_header(std::string_view where) {
  while (!answer_.has_head() && receive()) {
  }
  if (answer_.has_head()) return;
  if (answer_.state() == HttpAnswerReader::State::broken) {
    throw Error(ErrorCode::failed, fmt::format("{} does not speak HTTP", where));
  }
  throw Error(ErrorCode::unavailable, fmt::format("{} hung up without an answer", where));
}

std::string HttpCall::read_some() {
  while (body_.empty() && receive()) {
  }
  return std::exchange(body_, "");
}

std::string HttpCall::read_all() {
  std::string all;
  for (std::string piece; !(piece = read_some()).empty();) all += piece;
  return all;
}

}  // namespace dure
