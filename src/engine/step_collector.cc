// See step_collector.h.
#include "engine/step_collector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dure {
namespace {

void append_routes(TracedSlice& to, const TracedSlice& from) {
  to.moe_layers += from.moe_layers;
  to.top_k = std::max(to.top_k, from.top_k);
  to.expert_ids.insert(to.expert_ids.end(), from.expert_ids.begin(), from.expert_ids.end());
  to.expert_weights.insert(to.expert_weights.end(), from.expert_weights.begin(),
                           from.expert_weights.end());
}

}  // namespace

void StepCollector::expect(const Step& step) {
  Open open;
  open.id = step.id;
  bool traced = false;
  for (const Slice& slice : step.slices) {
    open.dp_of_slice.push_back(slice.dp);
    traced |= slice.want == Want::all_logits;
  }
  open.parts.resize(part_index(layout_.pp, 0));
  open.missing = layout_.dp * (traced ? layout_.pp : 1);
  open.arrived = std::chrono::steady_clock::now();
  open_.push_back(std::move(open));
}

std::optional<StepDone> StepCollector::add(int from_rank, StepDone part) {
  const auto open = std::find_if(open_.begin(), open_.end(),
                                 [&](const Open& each) { return each.id == part.id; });
  if (open == open_.end()) {
    throw Error(ErrorCode::failed,
                fmt::format("rank {} answered step {}, which is not open", from_rank, part.id));
  }
  const RankPlace place = place_of(layout_, from_rank);
  open->parts[part_index(place.stage, place.dp)] = std::move(part);
  if (--open->missing > 0) return std::nullopt;
  StepDone done = merge(*open);
  open_.erase(open);
  return done;
}

StepDone StepCollector::merge(Open& open) const {
  StepDone done;
  done.id = open.id;
  done.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - open.arrived).count();
  std::vector<size_t> next(static_cast<size_t>(layout_.dp), 0);  // slice of each dp group
  for (const int32_t dp : open.dp_of_slice) {
    const size_t at = next[static_cast<size_t>(dp)]++;
    SliceResult result;
    TracedSlice routes;
    for (int stage = 0; stage < layout_.pp; ++stage) {
      std::optional<StepDone>& part = open.parts[part_index(stage, dp)];
      if (!part) continue;
      SliceResult& slice = part->slices.at(at);
      if (slice.trace) append_routes(routes, *slice.trace);
      if (stage + 1 == layout_.pp) result = std::move(slice);
    }
    if (result.trace) {
      routes.vocab = result.trace->vocab;
      routes.logits = std::move(result.trace->logits);
      result.trace = std::move(routes);
    }
    done.slices.push_back(std::move(result));
  }
  return done;
}

}  // namespace dure
