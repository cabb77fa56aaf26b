// See weights_file.h.
#include "base/weights_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dure {

Descriptor open_weights_file(const std::filesystem::path& path, const std::string& instead) {
  // Not blocking: a pipe of that name would wait for its writer.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor && errno == ENOENT) {
    throw_bad_input(fmt::format("{}: missing", path.string()), "incomplete download?");
  }
  if (!descriptor) {
    throw_bad_input(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  }
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw_bad_input(
        fmt::format("{}: not a regular file, though it is named like weights", path.string()),
        instead);
  }
  return descriptor;
}

}  // namespace dure
