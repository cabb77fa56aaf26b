// See read_exactly.h.
#include "base/read_exactly.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dure {

void read_exactly(int descriptor, int64_t offset, int64_t bytes, void* to,
                  const std::string& what) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    constexpr int64_t most_at_once = int64_t{1} << 30;  // below what read() can report
    const ssize_t got =
        pread(descriptor, at, static_cast<size_t>(std::min(bytes, most_at_once)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorCode::failed,
                  fmt::format("{}: cannot read {} bytes at {}: {}", what, bytes, offset,
                              got == 0 ? "the file ends there" : std::strerror(errno)),
                  "the file changed, or its disk fails");
    }
    at += got;
    offset += got;
    bytes -= got;
  }
}

}  // namespace dure
