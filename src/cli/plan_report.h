// What `dure plan` prints: one answer as text that fits a terminal.
#pragma once

#include <string>

#include "plan/plan.h"

namespace dure {

// Lines are folded at `columns` where they are sentences.
std::string plan_text(const PlanQuestion& question, const PlanAnswer& answer, int columns);

}  // namespace dure
