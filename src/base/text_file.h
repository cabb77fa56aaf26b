// Whole files of a bounded size: what every reader of a text format begins with.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace dure {

// The bytes of a regular file of at most max_bytes. Throws bad_input naming the file.
std::string read_text_file(const std::filesystem::path& path, size_t max_bytes);

}  // namespace dure
