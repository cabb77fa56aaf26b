// The layout that people try first: tp = GPUs per node, pp = nodes.
#pragma once

#include "plan/search.h"

namespace dure {

// `best`, or what comes closest, is null where nothing fits.
RuleOfThumb rule_of_thumb(const PlanModel& model, const PlanQuestion& question,
                          const PlannedLayout* best);

}  // namespace dure
