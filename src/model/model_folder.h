// What a path given as a model is, and what to say when it is not one.
#pragma once

#include <filesystem>

namespace dure {

// The config.json of a Hugging Face folder, or the path itself if it is a .json file. Throws
// bad_input saying what was looked for; for the hub's cache folder (models--owner--name) the hint
// is the snapshot to use; for the name of a preset, that it has no weights.
std::filesystem::path config_file_of(const std::filesystem::path& model);

}  // namespace dure
