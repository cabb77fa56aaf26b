// Opening a file of weights: an ordinary one, or a symbolic link to it, as the hub's cache is made
// of.
#pragma once

#include <filesystem>
#include <string>

#include "base/descriptor.h"

namespace dure {

// For reading. Throws bad_input where it is missing, cannot be opened, or is no regular file;
// `instead`: what to do about the last.
Descriptor open_weights_file(const std::filesystem::path& path, const std::string& instead);

}  // namespace dure
