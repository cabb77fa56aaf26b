// Where each resident weight of a rank goes: the one table between the planner's list
// (cost/resident.h) and the structs that layers read (layers/weights.h).
#pragma once

#include "cost/resident.h"
#include "layers/weights.h"

namespace dure {

// Exactly one of the three.
struct WeightTarget {
  PackedMatrix* matrix = nullptr;
  Vector* vector = nullptr;
  EmbeddingTable* table = nullptr;
};

// Grows the lists of experts and heads in `weights` to what the rank holds, all of a layer at its
// first expert or head; pointers stay valid until then.
WeightTarget target_of(RankWeights& weights, const Resident& resident, const ModelSpec& spec,
                       const Layout& layout, const RankShare& share);

}  // namespace dure
