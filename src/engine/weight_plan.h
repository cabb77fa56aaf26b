// Where each resident weight of a rank lies in the one piece of memory that holds them all. A
// function of the planner's list alone, so that a rank finds everything again in memory that its
// predecessor filled.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/resident.h"

namespace dure {

struct WeightPlan {
  std::vector<int64_t> offsets;  // of each resident, in bytes; multiples of 64
  int64_t bytes = 0;             // of all
};

WeightPlan plan_of(const std::vector<Resident>& residents);

}  // namespace dure
