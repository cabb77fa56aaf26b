// See adapters.h.
#include "plan/adapters.h"

#include <algorithm>

#include "cost/retype.h"
#include "cost/shard.h"
#include "cost/step_work.h"
#include "model/inventory.h"

namespace dure {
namespace {

constexpr int64_t bf16_bytes = 2;

}  // namespace

AdapterRoom adapter_room(const PlanModel& model, const PlannedLayout& planned) {
  const PlannedRank& rank = planned.ranks[planned.tightest];
  const RankShare share = share_of(model.spec, planned.layout, rank.place.rank);
  AdapterRoom room;
  for (const Weight& weight : inventory_of_kinds(model.spec)) {
    if (weight.layer < 0 || weight.expert >= 0 || !is_retyped(weight)) continue;
    if (is_of_feed_forward(weight.part)) continue;
    const LayerSpec& kind = model.spec.layers[static_cast<size_t>(weight.layer)];
    RankShare alone = share;
    alone.layers = {weight.layer, weight.layer + 1};
    const auto slice = slice_of(weight, model.spec, planned.layout, alone);
    if (!slice) continue;
    const auto first = model.spec.layers.begin() + share.layers.begin;
    const auto last = model.spec.layers.begin() + share.layers.end;
    const int64_t layers = std::count(first, last, kind);
    room.bytes_each +=
        layers * adapter_rank * (slice->outputs.size() + slice->inputs.size()) * bf16_bytes;
  }
  if (room.bytes_each > 0) room.count = std::max<int64_t>(rank.free, 0) / room.bytes_each;
  return room;
}

}  // namespace dure
