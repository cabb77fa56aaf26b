// See serve_log.h.
#include "cli/serve_log.h"

#include <unistd.h>

#include "cli/terminal.h"

namespace dure {

ServeLog::ServeLog(LogFormat format) : format_(format), lines_(STDERR_FILENO, {}) {}

void ServeLog::add(const Event& event) {
  const std::string line = line_of(event, format_);
  // JSON has escaped control characters itself.
  lines_.add(format_ == LogFormat::json ? line : visible(line));
}

}  // namespace dure
