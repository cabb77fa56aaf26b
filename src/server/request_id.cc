// See request_id.h.
#include "server/request_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace dure {

bool is_request_id(std::string_view text) {
  const auto fits = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("-_.:/+=@").find(letter) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= max_request_id_bytes &&
         std::all_of(text.begin(), text.end(), fits);
}

std::string new_request_id() {
  thread_local std::mt19937_64 random{(static_cast<uint64_t>(std::random_device{}()) << 32) |
                                      std::random_device{}()};
  return fmt::format("{:016x}{:016x}", random(), random());
}

std::string request_id_from(std::string_view header) {
  return is_request_id(header) ? std::string(header) : new_request_id();
}

}  // namespace dure
