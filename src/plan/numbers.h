// In which numbers a planned deployment multiplies and caches, from what memory counts it in.
#pragma once

#include <optional>

#include "cost/step_work.h"
#include "plan/plan.h"

namespace dure {

Numbers numbers_of(const ModelSpec& spec, const std::optional<WeightFormat>& weights,
                   const KvFormat& kv);

}  // namespace dure
