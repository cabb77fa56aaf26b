// The nearest of a list of known names, for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

// Fewest single-character edits (Levenshtein); nothing for an empty list.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& known);

}  // namespace dure
