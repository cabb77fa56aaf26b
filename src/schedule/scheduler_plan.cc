// What the next step is made of: decoding sequences, then prompt chunks.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace dure {

std::optional<StepPlan> Scheduler::next_step() {
  if (static_cast<int32_t>(steps_.size()) >= options_.steps_in_flight) return std::nullopt;
  admit();
  StepPlan plan;
  StepOut out;
  if (const std::optional<uint64_t> id = running_alone()) {
    if (!steps_.empty()) return std::nullopt;
    plan_alone(*id, plan);
  }
  if (plan.slices.empty()) plan_groups(plan, out);
  if (plan.slices.empty()) return std::nullopt;

  plan.id = out.id = next_step_++;
  for (const PlannedSlice& slice : plan.slices) {
    out.slices.emplace_back(slice.sequence, slice.wants_token);
  }
  steps_.push_back(std::move(out));
  return plan;
}

std::optional<uint64_t> Scheduler::running_alone() {
  std::erase_if(alone_, [this](uint64_t id) {
    const auto found = sequences_.find(id);
    return found == sequences_.end() || found->second.cancelled;
  });
  for (const uint64_t id : alone_) {
    const Sequence& sequence = sequences_.at(id);
    if (sequence.running && !sequence.held) return id;
  }
  return std::nullopt;
}

void Scheduler::plan_alone(uint64_t id, StepPlan& plan) {
  Sequence& sequence = sequences_.at(id);
  make_unready(id, sequence);
  add_slice(id, options_.max_batch_tokens, plan);
  const bool ready = plan.slices.empty() || !plan.slices.front().wants_token;
  if (ready) make_ready(id, sequence);
}

// All dp groups take a step together, so the fullest one's time is everybody's.
void Scheduler::plan_groups(StepPlan& plan, StepOut& out) {
  PacedStep& fullest = out.content;
  std::vector<int32_t> decodes(groups_.size());
  std::vector<int32_t> sequences(groups_.size());
  for (size_t dp = 0; dp < groups_.size(); ++dp) {
    const auto running = static_cast<int32_t>(groups_[dp].order.size());
    sequences[dp] = (running + options_.steps_in_flight - 1) / options_.steps_in_flight;
    PacedStep own;
    plan_decodes(groups_[dp], sequences[dp], plan, own);
    decodes[dp] = own.decodes;
    fullest.decodes = std::max(fullest.decodes, own.decodes);
    fullest.decode_keys = std::max(fullest.decode_keys, own.decode_keys);
  }
  const PacedStep alone = fullest;
  for (size_t dp = 0; dp < groups_.size(); ++dp) {
    PacedStep own;
    plan_prompts(groups_[dp], pace_.room(alone, options_.max_batch_tokens - decodes[dp]),
                 sequences[dp] - decodes[dp], plan, own);
    fullest.prompt_tokens = std::max(fullest.prompt_tokens, own.prompt_tokens);
    fullest.prompt_keys = std::max(fullest.prompt_keys, own.prompt_keys);
  }
}

void Scheduler::plan_decodes(Group& group, int32_t sequences, StepPlan& plan, PacedStep& content) {
  const int32_t most = std::min(sequences, options_.max_batch_tokens);
  std::vector<uint64_t> without_page;
  while (content.decodes < most && !group.decoding.empty()) {
    const uint64_t id = group.decoding.front();
    group.decoding.pop_front();
    if (add_slice(id, 1, plan)) {
      ++content.decodes;
      content.decode_keys += sequences_.at(id).cached;
    } else {
      without_page.push_back(id);
    }
  }
  // A later one in this step may have sent an earlier one back.
  std::erase_if(without_page, [this](uint64_t id) { return !sequences_.at(id).running; });
  group.decoding.insert(group.decoding.begin(), without_page.begin(), without_page.end());
}

void Scheduler::plan_prompts(Group& group, PromptRoom room, int32_t sequences, StepPlan& plan,
                             PacedStep& content) {
  while (!room.closed() && sequences > 0) {
    const auto line = next_filling(group);
    if (line == group.filling.end()) break;
    const uint64_t id = std::get<2>(*line->second.order.begin());
    const Sequence& sequence = sequences_.at(id);
    const auto left = static_cast<int32_t>(sequence.tokens.size()) - sequence.cached;
    const int32_t least = content.prompt_tokens == 0 ? 1 : 0;
    const int32_t tokens = std::min(std::max(room.fits(sequence.cached), least), left);
    if (tokens == 0) break;
    room.take(sequence.cached, tokens);
    content.prompt_tokens += tokens;
    content.prompt_keys += keys_seen(sequence.cached, tokens);
    --sequences;
    DURE_CHECK(add_slice(id, tokens, plan));  // it has the pages of all its tokens
    line->second.shares.served(tokens);
    // The rest of it may follow in the next step, whether or not this one is done by then.
    if (tokens < left) break;
    make_unready(id, sequence);
  }
}

// In the order of admission: class, the tenant's share; of prompts of one tenant see fair_finish.h.
Scheduler::Prompts::iterator Scheduler::next_filling(Group& group) {
  auto best = group.filling.end();
  std::optional<std::tuple<int64_t, double, uint64_t>> first;
  for (auto line = group.filling.begin(); line != group.filling.end(); ++line) {
    const Sequence& head = sequences_.at(std::get<2>(*line->second.order.begin()));
    const std::tuple rank(head.rank, head.tenant->served, head.arrival);
    if (first && *first <= rank) continue;
    first = rank;
    best = line;
  }
  return best;
}

// False if there is no page for it.
bool Scheduler::add_slice(uint64_t id, int32_t count, StepPlan& plan) {
  Sequence& sequence = sequences_.at(id);
  const auto length = static_cast<int32_t>(sequence.tokens.size());
  count = std::min(count, length - sequence.cached);
  const int32_t end = sequence.cached + count;
  const int32_t pages = pages_for(end);
  if (!grow(sequence, pages)) return false;

  const auto first = sequence.tokens.begin() + sequence.cached;
  PlannedSlice& slice = plan.slices.emplace_back();
  slice.sequence = id;
  slice.dp = sequence.dp;
  slice.start = sequence.cached;
  slice.length = length;
  slice.tokens.assign(first, first + count);
  slice.pages.assign(sequence.pages.begin(), sequence.pages.begin() + pages);
  slice.state = sequence.state;
  slice.enters = !std::exchange(sequence.entered, true);
  slice.wants_token = end == length;
  sequence.cached = end;
  ++sequence.in_flight;
  charge(sequence, slice.start);
  if (options_.share_prefixes) publish_pages(sequence);
  return true;
}

// Gives it so many pages, if need be those of sequences that come after it.
bool Scheduler::grow(Sequence& sequence, int32_t pages) {
  Group& group = group_of(sequence);
  const int32_t more = pages - static_cast<int32_t>(sequence.pages.size());
  if (more <= 0) return true;
  while (group.pages.available() < more) {
    const Place own = place_of(sequence);
    const auto last = std::find_if(group.order.rbegin(), group.order.rend(), [&](const auto& each) {
      return each.first <= own || sequences_.at(each.second).in_flight == 0;
    });
    if (last == group.order.rend() || last->first <= own) return false;
    preempt(last->second);
  }
  const std::vector<int32_t> made = group.pages.allocate(more);
  sequence.pages.insert(sequence.pages.end(), made.begin(), made.end());
  return true;
}

// Prompt tokens as they are computed for the first time; produced ones were paid for when they
// came. What another sequence has computed costs nothing.
void Scheduler::charge(Sequence& sequence, int32_t start) {
  const int32_t from = std::max(start, sequence.charged);
  const int32_t to = std::min(sequence.cached, sequence.prompt_tokens);
  if (to <= from) return;
  sequence.charged = to;
  served_ += to - from;
  sequence.tenant->served += FairShare::prompt_weight * (to - from);
}

// Steps are done in the order sent, so what the next step reads will be there by then.
void Scheduler::publish_pages(Sequence& sequence) {
  Group& group = group_of(sequence);
  sequence.keys.extend(sequence.tokens, options_.page_tokens);
  const int32_t whole = sequence.cached / options_.page_tokens;
  for (; sequence.published < whole && sequence.node != PageCache::nowhere; ++sequence.published) {
    const auto index = static_cast<size_t>(sequence.published);
    if (sequence.published < sequence.promised) keep_promise(group, sequence.keys.hashes[index]);
    sequence.node = group.pages.publish(sequence.keys, sequence.tokens, index, sequence.node,
                                        sequence.pages[index]);
  }
  if (sequence.node == PageCache::nowhere) break_promises(sequence);
}

void Scheduler::keep_promise(Group& group, uint64_t hash) {
  const auto found = group.promised.find(hash);
  if (--found->second == 0) group.promised.erase(found);
}

void Scheduler::break_promises(Sequence& sequence) {
  Group& group = group_of(sequence);
  for (int32_t i = sequence.published; i < sequence.promised; ++i) {
    keep_promise(group, sequence.keys.hashes[static_cast<size_t>(i)]);
  }
  sequence.promised = sequence.published;
}

}  // namespace dure
