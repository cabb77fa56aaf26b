// The layout that people try first: tp = GPUs per node, pp = nodes.
#pragma once

#include "plan/search.h"

namespace dure {

// `best` is null where nothing keeps the limits.
RuleOfThumb rule_of_thumb(const PlanModel& model, const PlanQuestion& question,
                          const PlannedLayout* best);

}  // namespace dure
