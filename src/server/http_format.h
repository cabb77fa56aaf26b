// Writes HTTP/1.1 responses (RFC 9112) as bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace dure {

std::string_view reason_phrase(int status);

// Status line and headers, with the body's length; the body itself is the caller's. `more` are
// whole header lines.
std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view more);

// Status line and headers of an event stream: chunked, or ended by the connection's end.
std::string stream_head(bool chunked, bool keep_alive, std::string_view more);

std::string chunk(std::string_view bytes);  // one chunk of the chunked coding
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace dure
