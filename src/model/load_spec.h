// From a checkpoint's config.json to a ModelSpec: the registry of families.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/spec.h"

namespace dure {

// `model` is a Hugging Face folder or a config.json. Throws bad_input naming the file and field for
// a missing, mistyped, out-of-range or unknown key, and for an unknown family the closest known
// one.
ModelSpec load_spec(const std::filesystem::path& model);
ModelSpec spec_from_config(const Json& config, const std::string& what);

std::vector<std::string> known_families();

}  // namespace dure
