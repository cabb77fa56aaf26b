// What fit and plan print alike: a layout, what a rank holds, and its memory by kind.
#pragma once

#include <string>

#include "base/json.h"
#include "cluster/layout.h"
#include "cost/memory.h"

namespace dure {

std::string span_text(Range range);  // "0–60", "3", "–" for nothing
Json layout_json(const Layout& layout);
void put_memory(Json& json, const RankMemory& memory, int64_t free);  // bytes, a key for each kind
// Who a rank is and what it holds.
Json rank_json(const RankPlace& place, Range layers, Range experts);

}  // namespace dure
