// See choose_experts.h.
#include "kernels/cpu/choose_experts.h"

#include <algorithm>

#include "kernels/cpu/top_k.h"

namespace dure {
namespace {

// The top_k largest values among the experts of the groups that rank highest.
void select_in_groups(const float* values, const RouteShape& shape, RouteScratch& scratch,
                      int32_t* ids) {
  const int64_t size = shape.experts / shape.groups;
  const bool two = shape.group_rank == RouteShape::GroupRank::best_two && size > 1;
  for (int64_t g = 0; g < shape.groups; ++g) {
    const float* const group = values + g * size;
    int32_t best[2];
    select_top_k(group, size, two ? 2 : 1, best);
    scratch.group_value[static_cast<size_t>(g)] =
        two ? group[best[0]] + group[best[1]] : group[best[0]];
  }
  std::vector<int32_t>& kept = scratch.kept;
  select_top_k(scratch.group_value.data(), shape.groups, shape.kept_groups, kept.data());
  // In order, so that of equal experts the one with the lower number stays the first.
  std::sort(kept.begin(), kept.end());
  float* to = scratch.competing.data();
  for (const int32_t g : kept) to = std::copy_n(values + g * size, size, to);
  select_top_k(scratch.competing.data(), shape.kept_groups * size, shape.top_k, ids);
  for (int64_t s = 0; s < shape.top_k; ++s)
    ids[s] = static_cast<int32_t>(kept[static_cast<size_t>(ids[s] / size)] * size + ids[s] % size);
}

}  // namespace

void RouteScratch::fit(const RouteShape& shape) {
  const auto experts = static_cast<size_t>(shape.experts);
  scores.resize(experts);
  choice.resize(experts);
  if (shape.groups == 1) return;
  competing.resize(experts);
  group_value.resize(static_cast<size_t>(shape.groups));
  kept.resize(static_cast<size_t>(shape.kept_groups));
}

void choose_experts(const float* logits, const float* correction, const RouteShape& shape,
                    RouteScratch& scratch, int32_t* ids, float* weights) {
  const float* const scores = scratch.scores.data();
  const float* values = logits;
  const bool sums = shape.groups > 1 && shape.group_rank == RouteShape::GroupRank::best_two;
  if (correction != nullptr || sums) {
    for (int64_t e = 0; e < shape.experts; ++e)
      scratch.choice[static_cast<size_t>(e)] =
          scores[e] + (correction != nullptr ? correction[e] : 0.0f);
    values = scratch.choice.data();
  }
  if (shape.groups == 1) {
    select_top_k(values, shape.experts, shape.top_k, ids);
  } else {
    select_in_groups(values, shape, scratch, ids);
  }

  float sum = 0.0f;
  for (int64_t s = 0; s < shape.top_k; ++s) {
    weights[s] = scores[ids[s]];
    sum += weights[s];
  }
  for (int64_t s = 0; s < shape.top_k; ++s) {
    if (shape.normalize) weights[s] /= sum + shape.epsilon;
    weights[s] *= shape.scale;
  }
}

}  // namespace dure
