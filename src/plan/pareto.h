// What a user gets against what a GPU gives: layouts under loads from one request to a full cache,
// and those of them that no other beats in both.
#pragma once

#include <vector>

#include "plan/search.h"

namespace dure {

// All that were replayed; on_front is set. Layouts that no load could bring to the front are not.
std::vector<ParetoPoint> pareto(const PlanModel& model, const PlanQuestion& question,
                                const std::vector<Deployment>& deployments);

// Sets on_front of those that no other is at least as good as in both and better in one.
void mark_front(std::vector<ParetoPoint>& points);

}  // namespace dure
