// See http_format.h. Header values come from our own code or were checked, so nothing is
// escaped here.
#include "server/http_format.h"

#include <fmt/format.h>

namespace dure {
namespace {

std::string_view connection_header(bool keep_alive) {
  return keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view more) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}", response.status,
                  reason_phrase(response.status), response.content_type, response.body.size(),
                  connection_header(keep_alive));
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head.append(more) + "\r\n";
}

std::string stream_head(bool chunked, bool keep_alive, std::string_view more) {
  std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
      "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  head += connection_header(chunked && keep_alive);
  return head.append(more) + "\r\n";
}

std::string chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace dure
