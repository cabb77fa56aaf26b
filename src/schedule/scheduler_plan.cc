// What the next step is made of: admission, then decoding sequences, then prompt chunks.
#include <algorithm>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace dure {

std::optional<StepPlan> Scheduler::next_step() {
  if (static_cast<int32_t>(steps_.size()) >= options_.steps_in_flight) return std::nullopt;
  admit();
  StepPlan plan;
  for (int32_t dp = 0; dp < options_.dp; ++dp) plan_group(dp, plan);
  if (plan.slices.empty()) return std::nullopt;

  plan.id = next_step_++;
  StepOut& out = steps_.emplace_back();
  out.id = plan.id;
  for (const PlannedSlice& slice : plan.slices) out.sequences.push_back(slice.sequence);
  return plan;
}

// Strictly in order: a small sequence never overtakes a large one, or the large one might wait for
// ever.
void Scheduler::admit() {
  while (!waiting_.empty()) {
    const uint64_t id = waiting_.begin()->second;
    Sequence& sequence = sequences_.at(id);
    const auto need =
        static_cast<int32_t>(pages_needed(sequence.prompt_tokens, sequence.max_tokens));
    int32_t best = -1;
    for (int32_t dp = 0; dp < options_.dp; ++dp) {
      const Group& group = groups_[static_cast<size_t>(dp)];
      if (group.running >= options_.max_running || group.pages.available() < need) continue;
      if (best < 0 ||
          group.pages.available() > groups_[static_cast<size_t>(best)].pages.available()) {
        best = dp;
      }
    }
    if (best < 0) return;
    Group& group = groups_[static_cast<size_t>(best)];
    sequence.dp = best;
    sequence.pages = group.pages.allocate(need);
    sequence.state = group.states.allocate(1);
    ++group.running;
    waiting_.erase(waiting_.begin());
    make_ready(id, sequence);
  }
}

void Scheduler::plan_group(int32_t dp, StepPlan& plan) {
  Group& group = groups_[static_cast<size_t>(dp)];
  int32_t tokens_left = options_.max_batch_tokens;
  int32_t sequences_left =
      (group.running + options_.steps_in_flight - 1) / options_.steps_in_flight;

  while (tokens_left > 0 && sequences_left > 0 && !group.decoding.empty()) {
    add_slice(group.decoding.front(), 1, plan);
    group.decoding.pop_front();
    --tokens_left;
    --sequences_left;
  }
  while (tokens_left > 0 && sequences_left > 0 && !group.filling.empty()) {
    const uint64_t id = group.filling.begin()->second;
    const Sequence& sequence = sequences_.at(id);
    const int32_t count =
        std::min(tokens_left, static_cast<int32_t>(sequence.tokens.size()) - sequence.cached);
    add_slice(id, count, plan);
    group.filling.erase(group.filling.begin());
    tokens_left -= count;
    --sequences_left;
  }
}

void Scheduler::add_slice(uint64_t id, int32_t count, StepPlan& plan) {
  Sequence& sequence = sequences_.at(id);
  const auto first = sequence.tokens.begin() + sequence.cached;
  const int32_t end = sequence.cached + count;
  const int32_t pages = (end + options_.page_tokens - 1) / options_.page_tokens;
  DURE_CHECK(pages <= static_cast<int32_t>(sequence.pages.size()));

  PlannedSlice& slice = plan.slices.emplace_back();
  slice.sequence = id;
  slice.dp = sequence.dp;
  slice.start = sequence.cached;
  slice.length = static_cast<int32_t>(sequence.tokens.size());
  slice.tokens.assign(first, first + count);
  slice.pages.assign(sequence.pages.begin(), sequence.pages.begin() + pages);
  slice.state = sequence.state.front();
  slice.wants_token = end == static_cast<int32_t>(sequence.tokens.size());
  sequence.cached = end;
  sequence.in_flight = true;
}

void Scheduler::make_ready(uint64_t id, const Sequence& sequence) {
  Group& group = groups_[static_cast<size_t>(sequence.dp)];
  // One token of a sequence that has begun is a decode, be it the last of its prompt.
  const bool decoding =
      sequence.cached > 0 && sequence.cached + 1 == static_cast<int32_t>(sequence.tokens.size());
  if (decoding) {
    group.decoding.push_back(id);
  } else {
    group.filling.emplace(sequence.arrival, id);
  }
}

}  // namespace dure
