// See presets.h; presets() itself is made at build time, by cmake/embed_presets.cmake.
#include "model/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/load_spec.h"

namespace dure {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (std::equal(preset.name.begin(), preset.name.end(), name.begin(), name.end(),
                   [](char known, char given) { return known == lower(given); })) {
      return &preset;
    }
  }
  return nullptr;
}

ModelSpec spec_of(const Preset& preset) {
  const std::string what = fmt::format("preset {}", preset.name);
  return spec_from_config(parse_json(preset.config, what, {.allow_infinity = true}), what);
}

}  // namespace dure
