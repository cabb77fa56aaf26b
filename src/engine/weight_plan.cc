// See weight_plan.h.
#include "engine/weight_plan.h"

namespace dure {

WeightPlan plan_of(const std::vector<Resident>& residents) {
  constexpr int64_t line = 64;
  WeightPlan plan;
  plan.offsets.reserve(residents.size());
  for (const Resident& resident : residents) {
    plan.offsets.push_back(
        resident.same_as < 0 ? plan.bytes : plan.offsets[static_cast<size_t>(resident.same_as)]);
    plan.bytes += (resident.bytes() + line - 1) / line * line;
  }
  return plan;
}

}  // namespace dure
