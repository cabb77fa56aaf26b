// How fast requests have ended lately, so that a client that is refused hears when to come again.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

namespace dure {

class DrainRate {
 public:
  using Clock = std::chrono::steady_clock;

  // So many requests have ended since the start. Cheap to call often: one note a second is kept.
  void note(Clock::time_point now, int64_t ended);

  // Seconds until what is waiting will have been taken in, at the rate of the last minute; 1 where
  // nothing is known, at most 60.
  int retry_after_s(Clock::time_point now, int64_t ended, int64_t waiting) const;

 private:
  struct Note {
    Clock::time_point at;
    int64_t ended = 0;
  };
  mutable std::mutex mutex_;
  std::deque<Note> notes_;
};

}  // namespace dure
