// Whose key a request brings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

// Which of the keys an Authorization header ("Bearer KEY") holds.
std::optional<size_t> key_index(const std::vector<std::string>& keys,
                                std::string_view authorization);

}  // namespace dure
