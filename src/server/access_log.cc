// See access_log.h.
#include "server/access_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace dure {
namespace {

constexpr size_t longest_path = 512;  // bytes shown

std::string utc(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", parts, ms % 1000);
}

double rounded(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

}  // namespace

std::string access_line(const AccessRecord& record) {
  const Json line = {{"time", utc(record.begun)},
                     {"request_id", record.id},
                     {"client", record.client},
                     {"method", record.method},
                     {"path", record.path.substr(0, longest_path)},
                     {"status", record.status},
                     {"outcome", record.outcome},
                     {"request_bytes", record.request_bytes},
                     {"response_bytes", record.response_bytes},
                     {"first_byte_s", rounded(record.first_byte_s)},
                     {"total_s", rounded(record.total_s)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dure
