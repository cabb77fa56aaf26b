// How many sequences the ranks of a layout have room for: memory of the few ranks that differ, as a
// search asks it for every layout. Those that are ranked are asked about in full (fit()).
#pragma once

#include <cstdint>
#include <string>

#include "cost/fit.h"
#include "plan/plan.h"

namespace dure {

// fit()'s question for `sequences` of all dp ranks of a replica at once.
FitQuestion fit_question(const PlanQuestion& question, const Layout& layout, const KvFormat& kv,
                         int64_t chunk, int64_t sequences);

inline constexpr int64_t smallest_chunk = 2048;  // tokens of a step that is still tried

// Tokens of a step where nobody asks for another number.
int64_t usual_chunk(const PlanQuestion& question);

struct CacheRoom {
  RankMemory memory;      // of the tightest rank, without cache
  int64_t free = 0;       // bytes that are left for the cache; below zero: missing
  int64_t sequence = 0;   // bytes of one sequence there
  int64_t sequences = 0;  // of each dp rank
  int64_t budget = 0;     // bytes of one rank

  bool fits() const { return sequences > 0; }
};

CacheRoom room_of(const MemoryModel& model, const FitQuestion& question);

// "12.31 GiB missing on a rank: weights 60.10, …": what overflows the budget.
std::string why_it_does_not_fit(const CacheRoom& room);

}  // namespace dure
