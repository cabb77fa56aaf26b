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

// Ranks that hold the same bytes.
struct RankGroups {
  std::vector<std::vector<int>> ranks;  // of each group
  std::vector<int> of;                  // [ranks] the group of each
};
RankGroups equal_ranks(std::span<const PlannedRank> ranks);

// One bar for each group.
Json memory_json(const MemoryModel& model, const PlanQuestion& question, const Layout& layout,
                 std::span<const PlannedRank> ranks, const RankGroups& groups);

// "0–7, 16–23" of ascending numbers; "0, 2, 4, …, 70" where there are many pieces.
std::string numbers_text(std::span<const int> numbers);

}  // namespace dure
