// Optional files of a checkpoint folder.
#pragma once

#include <filesystem>

namespace dure {

// Whether there is a file of this name, as far as can be told: one that cannot be reached (a loop
// of symbolic links, a folder without permission) counts as there, so that reading it says what is
// wrong.
bool is_there(const std::filesystem::path& path);

}  // namespace dure
