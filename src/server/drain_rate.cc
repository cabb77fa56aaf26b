// See drain_rate.h.
#include "server/drain_rate.h"

#include <algorithm>
#include <cmath>

namespace dure {
namespace {

constexpr auto between_notes = std::chrono::seconds(1);
constexpr auto kept_for = std::chrono::seconds(60);
constexpr double longest_s = 60.0;

}  // namespace

void DrainRate::note(Clock::time_point now, int64_t ended) {
  const std::lock_guard lock(mutex_);
  if (!notes_.empty() && now - notes_.back().at < between_notes) return;
  notes_.push_back({now, ended});
  while (now - notes_.front().at > kept_for) notes_.pop_front();
}

int DrainRate::retry_after_s(Clock::time_point now, int64_t ended, int64_t waiting) const {
  const std::lock_guard lock(mutex_);
  if (notes_.empty() || ended <= notes_.front().ended) return 1;
  const double seconds = std::chrono::duration<double>(now - notes_.front().at).count();
  const double rate = static_cast<double>(ended - notes_.front().ended) / seconds;
  const double wait = static_cast<double>(waiting) / rate;
  return static_cast<int>(std::ceil(std::clamp(wait, 1.0, longest_s)));
}

}  // namespace dure
