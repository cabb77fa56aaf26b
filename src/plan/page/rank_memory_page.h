// Memory of a layout's ranks for the page: by kind, with weights by what they are for, equal ranks
// as one bar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "cost/memory.h"
#include "plan/plan.h"

namespace dure {

// [[key, words], …] in the order of every bar's `bytes`.
Json memory_kinds_json();

struct PageMemory {
  Json bars;             // one for each group of ranks that hold the same bytes
  std::vector<int> bar;  // [ranks] which bar a rank is of
};

PageMemory page_memory(const MemoryModel& model, const PlanQuestion& question, const Layout& layout,
                       std::span<const PlannedRank> ranks);

// "0–7, 16–23" of ascending numbers; "0, 2, 4, …, 70" where there are many pieces.
std::string numbers_text(std::span<const int> numbers);

}  // namespace dure
