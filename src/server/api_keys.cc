// See api_keys.h.
#include "server/api_keys.h"

#include <algorithm>

namespace dure {
namespace {

// In a time that tells nothing about where the keys differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    differs |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  }
  return differs == 0;
}

}  // namespace

std::optional<size_t> key_index(const std::vector<std::string>& keys,
                                std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";  // in any case
  if (authorization.size() < scheme.size() ||
      !std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                  [](char a, char b) { return a == (b | 0x20); })) {
    return std::nullopt;
  }
  const std::string_view given = authorization.substr(scheme.size());
  if (given.empty()) return std::nullopt;
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const std::string& key) {
    return equal_in_constant_time(given, key);
  });
  if (found == keys.end()) return std::nullopt;
  return static_cast<size_t>(found - keys.begin());
}

}  // namespace dure
