// What `dure serve` writes to stderr while it serves: events, one line each, as text or JSON.
#pragma once

#include "server/line_log.h"
#include "trace/event.h"

namespace dure {

class ServeLog {
 public:
  explicit ServeLog(LogFormat format);

  LogFormat format() const { return format_; }
  // From any thread; nobody waits for who reads it.
  void add(const Event& event);
  void warn(const char* name, const std::string& message) { add({Level::warning, name, message}); }

 private:
  LogFormat format_;
  LineLog lines_;
};

}  // namespace dure
