// MODEL on a command line that only plans: a folder, a config.json, or a size alone ("1T").
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dure {

// Parameters, where the text is a size and no file or folder of that name exists.
std::optional<int64_t> parameters_if_size(const std::string& model);

}  // namespace dure
