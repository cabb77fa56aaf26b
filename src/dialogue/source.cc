// See source.h.
#include "dialogue/source.h"

#include <utility>

#include "base/error.h"

namespace dure::dialogue {

int Source::current(bool takes) {
  if (read_ == text_.size()) return end;
  const char byte = text_[read_];
  if (takes) {
    ++read_;
    if (recording_) record_ += byte;
  }
  return static_cast<unsigned char>(byte);
}

void Source::push(std::string_view piece) {
  DURE_CHECK(!finished_);
  text_.erase(0, read_);
  read_ = 0;
  text_ += piece;
  run();
}

void Source::finish() {
  finished_ = true;
  run();
}

void Source::run() {
  const bool ready = finished_ || read_ < text_.size();
  if (!next_ && ready) next_ = std::exchange(waiting_, {});
  while (next_) std::exchange(next_, {}).resume();
}

void Source::record(std::string_view already) {
  recording_ = true;
  record_ = already;
}

void Source::forget() {
  recording_ = false;
  record_.clear();
}

std::string Source::recorded() {
  recording_ = false;
  return std::exchange(record_, {});
}

}  // namespace dure::dialogue
