// What browsers must be told before a page of another origin may call the server
// (https://fetch.spec.whatwg.org/#http-cors-protocol). Off unless origins are given.
#pragma once

#include <string>
#include <vector>

#include "server/http_message.h"

namespace dure {

// Header lines for an answer to a page of `origin`; none where it may not read the answer.
std::string cors_headers(const std::vector<std::string>& allowed, const std::string& origin);

// The answer to a browser's question before the request itself.
HttpResponse preflight_response();

}  // namespace dure
