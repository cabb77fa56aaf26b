// See clock_offset.h.
#include "trace/clock_offset.h"

namespace dure {

void ClockOffset::add(int64_t asked, int64_t theirs, int64_t heard) {
  const int64_t half = (heard - asked + 1) / 2;
  if (any_ && half >= within_) return;
  any_ = true;
  within_ = half;
  offset_ = asked + half - theirs;
}

}  // namespace dure
