// MODEL on a command line that only plans: a folder, a config.json, the name of a preset, or a size
// alone ("1T").
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/spec.h"

namespace dure {

// Parameters, where the text is a size and no file or folder of that name exists. Throws bad_input
// for what can only be meant as a size but is none that can be counted ("671X", "-5B",
// "10000000T").
std::optional<int64_t> parameters_if_size(const std::string& model);

// What there is at that path; else the preset of that name. Throws bad_input saying what is wrong
// with the path, or naming the closest preset.
ModelSpec planned_spec(const std::string& model);

}  // namespace dure
