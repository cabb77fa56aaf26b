// A rank's memory under a GPU engine, by kind, and the cache that the engine makes of the rest:
// what it will print at start, before anything is bought or loaded.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/engine_cache.h"
#include "cost/engine_profile.h"
#include "cost/memory.h"

namespace dure {

struct EngineRun {
  EngineProfile profile;
  int64_t gpu_bytes = 0;      // usable
  double utilization = 0.0;   // 0: the engine's own
  int64_t max_len = 0;        // tokens of the longest sequence; 0: the model's context
  int64_t element_bytes = 2;  // of activations: 4 fp32
  int64_t kv_element_bytes = 2;
  int64_t batch_tokens = 0;  // of the largest step; 0: the engine's own
};

// Everything but the cache, whose bytes are 0. `outside` has what is not charged to the budget.
RankMemory engine_rank_memory(const MemoryModel& model, const EngineRun& run, const Layout& layout,
                              int rank);

// What the engine takes for itself on one GPU of this layout, its cache included. Bytes.
int64_t engine_budget(const MemoryModel& model, const EngineRun& run, const Layout& layout);
// The share of the GPU's memory by which it does, where the user gave none.
double engine_utilization(const EngineRun& run, const Layout& layout);

struct EngineCapacity {
  int64_t pool = 0;        // bytes that the first rank's cache gets; below zero: missing
  int64_t tokens = 0;      // as the engine prints them: of the rank with the fewest
  double sequences = 0.0;  // of max_len at once, of one dp group
  bool known = true;       // see CacheCapacity
};

EngineCapacity engine_capacity(const MemoryModel& model, const EngineRun& run,
                               const Layout& layout);

}  // namespace dure
