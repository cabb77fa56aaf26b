// The strict reading of a request's head (RFC 9112). What two readers on one path could take in two
// ways is refused: that is how requests are smuggled past proxies. Beast's parser is laxer, and its
// assertions can be reached by clients that cut a chunked body into small pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dure {

struct HeadFault {
  int status = 400;
  std::string what;  // "two Content-Length fields"
};

inline constexpr size_t max_target_bytes = 8192;
inline constexpr int max_header_fields = 128;

// Of the request line, without its CR LF.
std::optional<HeadFault> fault_of_request_line(std::string_view line);

// Views into the text that was read.
struct RequestHead {
  std::string_view method;
  std::string_view target;
  bool http_1_1 = true;
  bool keep_alive = true;
  bool chunked = false;
  uint64_t content_length = 0;
  bool expects_continue = false;
  bool asks_preflight = false;
  std::string_view authorization;
  std::string_view origin;
  std::string_view request_id;
};

// Reads the whole head: lines that end with CR LF, the last of them empty. Lines have no bare CR or
// LF inside; the reader saw to that.
std::optional<HeadFault> read_head(std::string_view head, RequestHead& made);

// "/v1/models" of "/v1/models?x=1" and of "http://host/v1/models?x=1".
std::string_view path_of_target(std::string_view target);

}  // namespace dure
