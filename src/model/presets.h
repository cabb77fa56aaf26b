// Models by name: the config.json of releases that people deploy, embedded into the program so that
// it plans them anywhere (models/presets/). They have no weights.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"

namespace dure {

struct Preset {
  std::string_view name;    // lower case: "deepseek-v3"
  std::string_view config;  // the text of its config.json
};

std::span<const Preset> presets();
std::vector<std::string> preset_names();  // sorted

// In any case ("DeepSeek-V3"); null where there is none.
const Preset* find_preset(std::string_view name);

ModelSpec spec_of(const Preset& preset);

}  // namespace dure
