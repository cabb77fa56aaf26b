// See text_file.h.
#include "base/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace dure {

std::string read_text_file(const std::filesystem::path& path, size_t max_bytes) {
  std::error_code status;
  const auto type = std::filesystem::status(path, status).type();
  if (type == std::filesystem::file_type::not_found) {
    throw_bad_input(fmt::format("{}: no such file", path.string()));
  }
  if (status) {
    throw_bad_input(fmt::format("{}: cannot be read: {}", path.string(), status.message()));
  }
  if (type != std::filesystem::file_type::regular) {
    throw_bad_input(fmt::format("{}: not a regular file", path.string()));
  }
  const auto size = std::filesystem::file_size(path, status);
  if (status || size > max_bytes) {
    throw_bad_input(fmt::format("{}: larger than the {} bytes that such a file may have",
                                path.string(), max_bytes));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) {
    throw_bad_input(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  return text;
}

}  // namespace dure
