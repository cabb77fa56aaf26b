// In which numbers a planned deployment multiplies and caches, from what memory counts it in.
#pragma once

#include <optional>

#include "cost/step_work.h"
#include "plan/plan.h"

namespace dure {

// Of a release that mixes formats: each role's bytes a weight on average, and the unit that most of
// them are multiplied by. Its inventory is listed for it: once for all layouts. The cache's numbers
// are the layout's own.
Numbers numbers_of(const ModelSpec& spec, const std::optional<WeightFormat>& weights);

}  // namespace dure
