// The address of an HTTP server as people type it.
#pragma once

#include <string>
#include <string_view>

namespace dure {

struct HttpUrl {
  std::string host;
  std::string port;
  std::string path;  // "" or "/v1", without a slash at its end
};

// "127.0.0.1:8000", "[::1]:8000": as a Host header has it.
std::string authority_of(const HttpUrl& url);

// "http://127.0.0.1:8000/v1"; "http://" may be left out. Throws bad_input for anything else.
HttpUrl parse_url(std::string_view text);

}  // namespace dure
