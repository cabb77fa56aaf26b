// From a router's scores to experts and their weights: what of Backend::route all CPU backends
// share, one row at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace dure {

// Memory for one row at a time; one per thread.
struct RouteScratch {
  void fit(const RouteShape& shape);

  std::vector<float> scores;  // [experts]
  std::vector<float> choice;
  std::vector<float> competing;
  std::vector<float> group_value;  // [groups]
  std::vector<int32_t> kept;       // [kept_groups]
};

// ids[top_k] and weights[top_k] of a row with these logits, whose scores are in scratch.scores.
// correction: [experts] or null.
void choose_experts(const float* logits, const float* correction, const RouteShape& shape,
                    RouteScratch& scratch, int32_t* ids, float* weights);

}  // namespace dure
