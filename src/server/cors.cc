// See cors.h.
#include "server/cors.h"

#include <fmt/format.h>

#include <algorithm>

namespace dure {

std::string cors_headers(const std::vector<std::string>& allowed, const std::string& origin) {
  if (allowed.empty()) return "";
  const auto has = [&](const std::string& name) {
    return std::find(allowed.begin(), allowed.end(), name) != allowed.end();
  };
  constexpr const char* exposed = "Access-Control-Expose-Headers: X-Request-Id, Retry-After\r\n";
  if (has("*")) return fmt::format("Access-Control-Allow-Origin: *\r\n{}", exposed);
  // The answer depends on who asks, which caches must know even where it is no.
  if (origin.empty() || !has(origin)) return "Vary: Origin\r\n";
  return fmt::format("Access-Control-Allow-Origin: {}\r\nVary: Origin\r\n{}", origin, exposed);
}

HttpResponse preflight_response() {
  HttpResponse response;
  response.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST"},
                      {"Access-Control-Allow-Headers",
                       "Authorization, Content-Type, X-Request-Id, OpenAI-Organization, "
                       "OpenAI-Project, X-Stainless-Lang, X-Stainless-Package-Version, "
                       "X-Stainless-OS, X-Stainless-Arch, X-Stainless-Runtime, "
                       "X-Stainless-Runtime-Version, X-Stainless-Retry-Count, X-Stainless-Timeout"},
                      {"Access-Control-Max-Age", "3600"}};
  return response;
}

}  // namespace dure
