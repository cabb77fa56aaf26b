// A rank's weights by what they are for: what a reader of a memory report asks first where they do
// not fit. The sum is exactly what the rank's memory counts as weights.
#pragma once

#include <cstdint>

#include "cost/memory.h"

namespace dure {

struct WeightKinds {      // bytes
  int64_t attention = 0;  // projections, indexers, what makes recurrent states
  int64_t dense = 0;      // feed-forward parts of every token: dense layers, shared experts
  int64_t experts = 0;    // routed
  int64_t embedding = 0;  // and output head
  int64_t other = 0;      // norms, routers, tables of rotations, image encoders

  int64_t total() const { return attention + dense + experts + embedding + other; }
  int64_t& of(Slot slot);
};

// As Dure holds them, without the padding of packed matrices. engine_weights.h has an engine's.
WeightKinds weight_kinds(const MemoryModel& model, const Layout& layout, int rank, Compute compute);

}  // namespace dure
