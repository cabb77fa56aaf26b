// Where a plan's ranks are, for the page's drawing of nodes: every GPU of the cluster with whose
// replica it is, and each rank of one replica with what it holds.
#pragma once

#include <span>

#include "base/json.h"
#include "plan/plan.h"

namespace dure {

// Nodes from the first on, those that are filled alike as one: [{first, last, gpus: [[unit, GPUs],
// …]}]. Units are replicas, or with pools first the prefill and then the decode workers; -1: idle.
Json cluster_json(const PlanQuestion& question, const PlannedLayout& planned);

// Nodes of one replica. From `most_nodes_drawn` on, neighbours whose ranks hold as much are one,
// drawn as their first with the ranges of all. `group` of each rank: equal_ranks().
Json replica_json(const PlannedLayout& planned, std::span<const int> group);

}  // namespace dure
