// See utc_time.h.
#include "base/utc_time.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace dure {

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", parts, ms % 1000);
}

}  // namespace dure
