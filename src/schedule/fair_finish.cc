// See fair_finish.h.
#include "schedule/fair_finish.h"

namespace dure {

double FairFinish::enter(int32_t tokens) {
  return *places_.insert(now_ + tokens);
}

void FairFinish::leave(double place) {
  const auto found = places_.find(place);
  if (found != places_.end()) places_.erase(found);
}

void FairFinish::served(int32_t tokens) {
  double left = tokens;
  while (!places_.empty()) {
    const auto sharing = static_cast<double>(places_.size());
    const double until_next = (*places_.begin() - now_) * sharing;
    if (left < until_next) {
      now_ += left / sharing;
      return;
    }
    left -= until_next;
    now_ = *places_.begin();
    places_.erase(places_.begin());
  }
}

}  // namespace dure
