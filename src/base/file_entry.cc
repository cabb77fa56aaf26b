// See file_entry.h.
#include "base/file_entry.h"

namespace dure {

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;  // the type tells
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

}  // namespace dure
