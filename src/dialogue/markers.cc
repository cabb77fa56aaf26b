// See markers.h. Markers are few and short, so that trying each is fast enough.
#include "dialogue/markers.h"

#include <utility>

#include "dialogue/answer_sink.h"

namespace dure::dialogue {

int MarkerScan::feed(char byte, std::string& text) {
  held_ += byte;
  while (!held_.empty()) {
    bool begins = false;
    for (size_t i = 0; i < markers_.size(); ++i) {
      if (markers_[i].opens_line && !line_is_blank_) continue;
      if (!markers_[i].text.starts_with(held_)) continue;
      begins = true;
      if (markers_[i].text.size() > held_.size()) continue;
      held_.clear();
      line_is_blank_ = true;
      return static_cast<int>(i);
    }
    if (begins) break;
    const char first = held_[0];
    text += first;
    line_is_blank_ = first == '\n' || (line_is_blank_ && is_space(first));
    held_.erase(0, 1);
  }
  return -1;
}

std::string MarkerScan::rest() {
  return std::exchange(held_, {});
}

}  // namespace dure::dialogue
