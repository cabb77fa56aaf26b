// Which traits of a plan no run had that the error bands come from.
#pragma once

#include <string>
#include <vector>

#include "plan/search.h"

namespace dure {

// "GPU a100-80", "pp 4", …; empty: runs like it were measured.
std::vector<std::string> unmeasured(const PlanModel& model, const PlanQuestion& question,
                                    const Deployment& deployment);

// As MeasuredRange names them.
std::string weights_of(const PlanModel& model, const PlanQuestion& question);

// What the runs had, in one line.
std::string in_words(const MeasuredRange& range);

}  // namespace dure
