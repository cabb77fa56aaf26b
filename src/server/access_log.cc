// See access_log.h.
#include "server/access_log.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utc_time.h"

namespace dure {
namespace {

constexpr size_t longest_path = 512;  // bytes shown

double rounded(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

}  // namespace

std::string access_line(const AccessRecord& record) {
  const Json line = {{"time", utc_text(record.begun)},
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
