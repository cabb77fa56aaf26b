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
  std::set<uint64_t> without_page;
  while (!room.closed() && sequences > 0) {
    const std::optional<uint64_t> id = next_filling(group, without_page);
    if (!id) break;
    const Sequence& sequence = sequences_.at(*id);
    const int32_t start = sequence.cached;
    const auto left = static_cast<int32_t>(sequence.tokens.size()) - start;
    const int32_t least = content.prompt_tokens == 0 ? 1 : 0;
    const int32_t tokens = std::min(std::max(room.fits(start), least), left);
    if (tokens == 0) break;
    if (!add_slice(*id, tokens, plan)) {
      without_page.insert(*id);
      continue;
    }
    room.take(start, tokens);
    content.prompt_tokens += tokens;
    content.prompt_keys += keys_seen(start, tokens);
    --sequences;
    group.filling.at(sequence.line).shares.served(tokens);
    // The rest of it may follow in the next step, whether or not this one is done by then.
    if (tokens < left) break;
    make_unready(*id, sequence);
  }
}

// In the order of admission: class, the tenant's share; of prompts of one tenant see fair_finish.h.
std::optional<uint64_t> Scheduler::next_filling(const Group& group,
                                                const std::set<uint64_t>& passed) const {
  std::optional<uint64_t> best;
  std::optional<std::tuple<int64_t, double, uint64_t>> first;
  for (const auto& [key, line] : group.filling) {
    const auto next = std::find_if(line.order.begin(), line.order.end(), [&](const auto& each) {
      return !passed.contains(std::get<2>(each));
    });
    if (next == line.order.end()) continue;
    const uint64_t id = std::get<2>(*next);
    const Sequence& head = sequences_.at(id);
    const std::tuple rank(head.rank, head.tenant->served, head.arrival);
    if (first && *first <= rank) continue;
    first = rank;
    best = id;
  }
  return best;
}

// False if there are no pages for it.
bool Scheduler::add_slice(uint64_t id, int32_t count, StepPlan& plan) {
  Sequence& sequence = sequences_.at(id);
  const auto length = static_cast<int32_t>(sequence.tokens.size());
  count = std::min(count, length - sequence.cached);
  const int32_t end = sequence.cached + count;
  give_back_unseen(sequence);
  if (!grow(sequence, end)) return false;

  const auto first = sequence.tokens.begin() + sequence.cached;
  PlannedSlice& slice = plan.slices.emplace_back();
  slice.sequence = id;
  slice.dp = sequence.dp;
  slice.start = sequence.cached;
  slice.length = length;
  slice.tokens.assign(first, first + count);
  slice.tables = tables_of(sequence, end);
  slice.state = sequence.state;
  slice.enters = !std::exchange(sequence.entered, true);
  slice.wants_token = end == length;
  sequence.cached = end;
  ++sequence.in_flight;
  charge(sequence, slice.start);
  if (options_.share_prefixes) publish_pages(sequence);
  return true;
}

// Not as soon as its last reader is planned: who gets the page may write to it in the same step.
void Scheduler::give_back_unseen(Sequence& sequence) {
  for (size_t c = 0; c < sequence.runs.size(); ++c) {
    BlockRun& run = sequence.runs[c];
    const int64_t seen =
        options_.page_classes[c].first_block(sequence.cached, options_.page_tokens);
    if (seen <= run.first) continue;
    const auto unseen = static_cast<size_t>(seen - run.first);
    group_of(sequence).pages.release(std::span(run.blocks).first(unseen));
    run.blocks.erase(run.blocks.begin(), run.blocks.begin() + (seen - run.first));
    run.first = seen;
  }
}

// Gives it pages for its first tokens, as far as they are seen, if need be those of sequences that
// come after it.
bool Scheduler::grow(Sequence& sequence, int64_t tokens) {
  Group& group = group_of(sequence);
  std::vector<int64_t> missing;  // blocks of each class
  int64_t pages = 0;
  for (size_t c = 0; c < sequence.runs.size(); ++c) {
    missing.push_back(std::max<int64_t>(blocks_for(tokens) - sequence.runs[c].end(), 0));
    pages += missing[c] * options_.page_classes[c].tables;
  }
  if (pages == 0) return true;
  while (group.pages.available() < pages) {
    const Place own = place_of(sequence);
    const auto last = std::find_if(group.order.rbegin(), group.order.rend(), [&](const auto& each) {
      return each.first <= own || sequences_.at(each.second).in_flight == 0;
    });
    if (last == group.order.rend() || last->first <= own) return false;
    preempt(last->second);
  }
  for (size_t c = 0; c < sequence.runs.size(); ++c) {
    const std::vector<int32_t> made = group.pages.allocate(c, missing[c]);
    std::vector<int32_t>& blocks = sequence.runs[c].blocks;
    blocks.insert(blocks.end(), made.begin(), made.end());
  }
  return true;
}

// The pages of its first tokens, as far as they are seen.
std::vector<PlannedTable> Scheduler::tables_of(const Sequence& sequence, int64_t tokens) {
  const PageCache& cache = group_of(sequence).pages;
  std::vector<PlannedTable> tables;
  for (size_t c = 0; c < sequence.runs.size(); ++c) {
    const BlockRun& run = sequence.runs[c];
    const auto count = static_cast<size_t>(blocks_for(tokens) - run.first);
    const size_t first = tables.size();
    for (int32_t i = 0; i < options_.page_classes[c].tables; ++i) {
      PlannedTable& table = tables.emplace_back();
      table.first = static_cast<int32_t>(run.first);
      table.pages.reserve(count);
    }
    for (size_t i = 0; i < count; ++i) {
      size_t table = first;
      cache.each_page(run.blocks[i], [&](int32_t page) { tables[table++].pages.push_back(page); });
    }
  }
  return tables;
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
  std::vector<int32_t> blocks(sequence.runs.size());
  for (; sequence.published < whole && sequence.node != PageCache::nowhere; ++sequence.published) {
    const auto index = static_cast<size_t>(sequence.published);
    if (sequence.published < sequence.promised) keep_promise(group, sequence.keys.hashes[index]);
    for (size_t c = 0; c < blocks.size(); ++c) {
      const BlockRun& run = sequence.runs[c];
      blocks[c] = run.blocks[index - static_cast<size_t>(run.first)];
    }
    sequence.node =
        group.pages.publish(sequence.keys, sequence.tokens, index, sequence.node, blocks);
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
