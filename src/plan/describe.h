// A ranked layout in full: what every rank holds, how many users it serves, its typical steps.
#pragma once

#include "plan/search.h"

namespace dure {

PlannedLayout describe(const PlanModel& model, const PlanQuestion& question, const Ranked& ranked);

// Requests in flight, of all replicas, up to which the limits are kept and none waits for cache.
struct Users {
  int64_t count = 0;
  std::string end;  // what the next one would break: "cache", "TTFT", "TPOT", "sequences of a step"
};
Users most_users(const PlanModel& model, const PlanQuestion& question,
                 const Deployment& deployment);

}  // namespace dure
