// Why a layout was not taken, and how two of them differ: sentences with their numbers.
#pragma once

#include <string>
#include <vector>

#include "plan/search.h"

namespace dure {

std::string in_short(const Layout& layout);  // "tp 2 dp 8 ep 16", "1 GPU": sizes of 1 left out
std::string replicas_text(const Layout& layout, int replicas);  // "2 × (tp 8 dp 2)"
// The same, and of pools "1 × (tp 8) → 3 × (tp 4)".
std::string replicas_text(const PlannedLayout& planned);
const char* in_words(Operation operation);

// Of a layout that fits, but is not among those ranked; `best` is null where none keeps the limits.
RejectedLayout why_not(const PlanModel& model, const PlanQuestion& question, const Ranked& ranked,
                       const Ranked* best);

// Of a decode step, operation by operation, largest first; what hardly differs is left out.
std::vector<std::string> differences(const TypicalStep& of, const TypicalStep& best);

}  // namespace dure
