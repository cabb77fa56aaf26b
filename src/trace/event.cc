// See event.h.
#include "trace/event.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utc_time.h"

namespace dure {
namespace {

const char* name_of(Level level) {
  switch (level) {
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "info";
}

Json json_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

}  // namespace

std::string text_of(const Event& event) {
  return (event.level == Level::info ? "" : "warning: ") + event.message;
}

std::string json_of(const Event& event, std::chrono::system_clock::time_point time) {
  nlohmann::ordered_json line = {{"time", utc_text(time)},
                                 {"level", name_of(event.level)},
                                 {"event", event.name},
                                 {"message", event.message}};
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) line[key] = value;
  };
  const auto number = [&](const char* key, int64_t value) {
    if (value >= 0) line[key] = value;
  };
  text("hint", event.hint);
  text("cause", event.cause);
  text("request_id", event.request);
  number("rank", event.rank);
  number("pid", event.pid);
  text("host", event.host);
  number("step", event.step);
  text("operation", event.operation);
  number("layer", event.layer);
  for (const auto& [key, value] : event.numbers) line[key] = json_number(value);
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string line_of(const Event& event, LogFormat format) {
  return format == LogFormat::json ? json_of(event, std::chrono::system_clock::now())
                                   : text_of(event);
}

}  // namespace dure
