// Ways out where a plan does not fit or misses its limits, and what they would gain where it does:
// each with the numbers of its own search, or why it is none here.
#pragma once

#include <vector>

#include "plan/search.h"

namespace dure {

std::vector<Alternative> alternatives_of(const PlanModel& model, const PlanQuestion& question,
                                         const PlannedLayout* best);

}  // namespace dure
