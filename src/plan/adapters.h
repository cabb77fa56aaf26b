// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) over one base model: each adds two
// thin matrices, [rank, inputs] and [outputs, rank], to every matrix that it adapts.
#pragma once

#include <cstdint>

#include "plan/search.h"

namespace dure {

inline constexpr int64_t adapter_rank = 16;

struct AdapterRoom {
  int64_t bytes_each = 0;  // bf16, on the rank that holds most of one
  int64_t count = 0;       // that fit into what the plan leaves free there
};

// Adapters of attention's projections, cut over tp as these are.
AdapterRoom adapter_room(const PlanModel& model, const PlannedLayout& planned);

}  // namespace dure
