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

void write_text_file(const std::filesystem::path& path, std::string_view text,
                     std::string_view what) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const bool opened = out.is_open();
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out) return;
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(path, ignored)) {
    std::filesystem::remove(path, ignored);
  }
  throw_bad_input(fmt::format("{} {}: cannot be written: {}", what, path.string(), why),
                  "name a file in a folder that you may write to", std::string(what));
}

}  // namespace dure
