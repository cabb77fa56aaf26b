// See step_clock.h.
#include "trace/step_clock.h"

#include <algorithm>

namespace dure {
namespace {

constexpr size_t most_names = 256;  // the code has a few dozen

}  // namespace

int64_t ns_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::string_view to_string(StepPart part) {
  switch (part) {
    case StepPart::other:
      return "other";
    case StepPart::embedding:
      return "embedding";
    case StepPart::attention:
      return "attention";
    case StepPart::feed_forward:
      return "feed_forward";
    case StepPart::experts:
      return "experts";
    case StepPart::collectives:
      return "collectives";
    case StepPart::logits:
      return "logits";
    case StepPart::sampling:
      return "sampling";
  }
  return "other";
}

void StepClock::begin_step(uint64_t step) {
  end_step();
  step_ = step;
  layer_ = -1;
  depth_ = 1;
  open_[0] = {step, 0, 0, 0, -1, keeps_ ? name_of("step") : uint16_t{0}, StepPart::other};
  mark_ = Clock::now();
  open_[0].begin_ns = ns_of(mark_);
}

void StepClock::end_step() {
  if (depth_ == 0) return;
  const auto now = Clock::now();
  while (depth_ > 0) close(now);
}

void StepClock::begin(StepPart part, std::string_view name, int64_t bytes) {
  if (depth_ == 0) return;
  if (depth_++ >= deepest) return;
  const auto now = Clock::now();
  // The time so far is the parent's.
  spent_[static_cast<size_t>(open_[depth_ - 2].part)] += now - mark_;
  mark_ = now;
  open_[depth_ - 1] = {step_, ns_of(now), 0, bytes, layer_, keeps_ ? name_of(name) : uint16_t{0},
                       part};
}

void StepClock::end() {
  if (depth_ > 1) close(Clock::now());
}

void StepClock::close(Clock::time_point now) {
  if (depth_-- > deepest) return;
  Span& span = open_[depth_];
  spent_[static_cast<size_t>(span.part)] += now - mark_;
  mark_ = now;
  if (!keeps_) return;
  if (spans_.size() == most_spans) {
    ++lost_;
    return;
  }
  span.length_ns = ns_of(now) - span.begin_ns;
  spans_.push_back(span);
}

uint16_t StepClock::name_of(std::string_view name) {
  const auto at = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<size_t>(at - names_.begin());
  if (at != names_.end() || index == most_names) {
    return static_cast<uint16_t>(std::min(index, most_names - 1));
  }
  names_.emplace_back(name);
  return static_cast<uint16_t>(index);
}

std::array<double, part_count> StepClock::seconds() const {
  std::array<double, part_count> seconds{};
  for (size_t i = 0; i < part_count; ++i) {
    seconds[i] = std::chrono::duration<double>(spent_[i]).count();
  }
  return seconds;
}

std::vector<Span> StepClock::take_spans() {
  std::vector<Span> taken;
  taken.reserve(spans_.size());
  taken.swap(spans_);
  return taken;
}

}  // namespace dure
