// See http_url.h.
#include "base/http_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace dure {

std::string authority_of(const HttpUrl& url) {
  const bool is_v6 = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", url.host, is_v6 ? "]" : "", url.port);
}

HttpUrl parse_url(std::string_view text) {
  const std::string whole(text);
  if (text.starts_with("https://")) {
    throw_bad_input(fmt::format("{}: https is not spoken here", whole),
                    "use http, or a proxy that ends TLS");
  }
  if (text.starts_with("http://")) text.remove_prefix(7);
  const size_t slash = std::min(text.find('/'), text.size());
  std::string_view place = text.substr(0, slash);
  HttpUrl url;
  url.path = std::string(text.substr(slash));
  while (url.path.ends_with('/')) url.path.pop_back();
  url.port = "80";
  const size_t colon = place.rfind(':');
  if (colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos) {
    url.port = std::string(place.substr(colon + 1));
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  url.host = std::string(place);
  const bool is_number =
      !url.port.empty() && std::all_of(url.port.begin(), url.port.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) != 0;
      });
  if (url.host.empty() || !is_number || whole.find_first_of(" \r\n") != std::string::npos) {
    throw_bad_input(fmt::format("{:.200}: not the URL of a server", whole),
                    "it looks like http://127.0.0.1:8000");
  }
  return url;
}

}  // namespace dure
