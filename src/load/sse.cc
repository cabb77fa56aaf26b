// See sse.h.
#include "load/sse.h"

#include <utility>

#include "base/error.h"

namespace dure::load {

void SseParser::append(std::string_view bytes) {
  if (line_.size() + data_.size() + bytes.size() > most_event_bytes) {
    throw_bad_input("an event of more than 16 MiB");
  }
  line_ += bytes;
}

bool SseParser::end_line(const OnEvent& on_event) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  bool go_on = true;
  if (line.empty()) {
    if (std::exchange(has_data_, false)) go_on = on_event(data_);
    data_.clear();
  } else if (line == "data" || line.starts_with("data:")) {
    line.remove_prefix(line == "data" ? 4 : 5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += line;
  }
  line_.clear();
  return go_on;
}

bool SseParser::feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    append(bytes.substr(0, end));
    if (end == std::string_view::npos) return true;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!end_line(on_event)) return false;
  }
  return true;
}

}  // namespace dure::load
