// From a checkpoint's config.json to a ModelSpec: the registry of families.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/spec.h"

namespace dure {

// `model` is a Hugging Face folder, a config.json or a GGUF file. Throws bad_input naming the file
// and field for a missing, mistyped, out-of-range or unknown key, and for an unknown family the
// closest known one.
ModelSpec load_spec(const std::filesystem::path& model);

// Where a document calls what a config.json has under a key by another name: key, name.
using KeyNames = std::vector<std::pair<std::string, std::string>>;
ModelSpec spec_from_config(const Json& config, const std::string& what,
                           const KeyNames& spelled = {});

std::vector<std::string> known_families();

}  // namespace dure
