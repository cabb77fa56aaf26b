// A ranked layout in full: what every rank holds, how many users it serves, its typical steps.
#pragma once

#include <vector>

#include "plan/search.h"

namespace dure {

// What each rank of a replica holds. Free memory is below zero where it does not fit.
std::vector<PlannedRank> planned_ranks(const MemoryModel& memory, const FitQuestion& question,
                                       int ranks_per_node);

PlannedLayout describe(const PlanModel& model, const PlanQuestion& question, const Ranked& ranked);

// Requests in flight, of all replicas, up to which the limits are kept and none waits for cache.
struct Users {
  int64_t count = 0;
  std::string end;  // what the next one would break: "cache", "TTFT", "TPOT", "sequences of a step"
};
Users most_users(const PlanModel& model, const PlanQuestion& question,
                 const Deployment& deployment);

}  // namespace dure
