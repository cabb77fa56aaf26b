// Whole files: those of a bounded size that every reader of a text format begins with, and reports
// that are written at once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace dure {

// The bytes of a regular file of at most max_bytes. Throws bad_input naming the file.
std::string read_text_file(const std::filesystem::path& path, size_t max_bytes);

// Replaces the file by `text`. Throws bad_input naming `what` (a flag) and the file where that
// cannot be written; half a file is removed.
void write_text_file(const std::filesystem::path& path, std::string_view text,
                     std::string_view what);

}  // namespace dure
