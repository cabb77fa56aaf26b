// Prefill and decode apart: which layout and how many workers for each, and what handing caches
// over between them costs (Zhong et al. 2024, arXiv:2401.09670; Patel et al. 2023,
// arXiv:2311.18677).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/search.h"

namespace dure {

struct PoolPlan {
  Deployment prefill;  // its replicas are the pool's workers
  Deployment decode;
  Service service;
  bool meets_limits = true;
  double score = 0.0;  // of the objective

  int gpus() const { return prefill.gpus() + decode.gpus(); }
};

// Of the layouts that fit. Nothing, and `why`, where two pools do not.
std::optional<PoolPlan> best_pools(const PlanModel& model, const PlanQuestion& question,
                                   const std::vector<Deployment>& fits, std::string& why);

PlannedLayout describe_pools(const PlanModel& model, const PlanQuestion& question,
                             const PoolPlan& pools);

}  // namespace dure
