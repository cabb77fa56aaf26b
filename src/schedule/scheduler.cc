// The life of a sequence in the scheduler: submitted, admitted (scheduler_admit.cc), advanced by
// steps (scheduler_plan.cc), finished, cancelled or sent back to wait.
#include "schedule/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dure {

Scheduler::Scheduler(const ScheduleOptions& options) : options_(options), pace_(options.stretch) {
  const auto require = [](int32_t value, const char* name) {
    if (value < 1) throw_bad_input(fmt::format("scheduler: {} is {}, below 1", name, value));
  };
  require(options.dp, "dp");
  require(options.page_tokens, "page_tokens");
  require(options.pages, "pages");
  require(options.max_batch_tokens, "max_batch_tokens");
  require(options.max_running, "max_running");
  require(options.steps_in_flight, "steps_in_flight");
  if (options.page_classes.empty()) throw_bad_input("scheduler: no page_classes");
  for (int32_t dp = 0; dp < options.dp; ++dp) groups_.emplace_back(options_);
}

int64_t Scheduler::longest_sequence() const {
  // The last token produced is never fed back, so it needs no room.
  return longest_held(options_.page_classes, options_.pages, options_.page_tokens,
                      options_.max_batch_tokens) +
         1;
}

int64_t Scheduler::blocks_for(int64_t tokens) const {
  return (tokens + options_.page_tokens - 1) / options_.page_tokens;
}

void Scheduler::submit(SequenceRequest request) {
  DURE_CHECK(!sequences_.contains(request.id));
  if (request.prompt.empty()) throw_bad_input("the prompt has no tokens");
  if (request.max_tokens < 1) {
    throw_bad_input(fmt::format("max_tokens is {}, below 1", request.max_tokens), "", "max_tokens");
  }
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt + request.max_tokens > longest_sequence()) {
    throw_bad_input(
        fmt::format("{} prompt tokens and {} more make {}, but the KV cache holds sequences of at "
                    "most {} tokens",
                    prompt, request.max_tokens, prompt + request.max_tokens, longest_sequence()),
        "lower max_tokens, shorten the prompt, or start the server with more --kv-memory");
  }
  Sequence& sequence = sequences_[request.id];
  sequence.arrival = next_arrival_++;
  sequence.prompt_tokens = static_cast<int32_t>(prompt);
  sequence.tokens = std::move(request.prompt);
  sequence.max_tokens = request.max_tokens;
  sequence.stop_ids = std::move(request.stop_ids);
  sequence.line = {request.priority, std::move(request.tenant)};
  sequence.tenant = &shares_.enter(sequence.line.second);
  sequence.cache_salt = std::move(request.cache_salt);
  sequence.whole_prompt = request.whole_prompt;
  sequence.served_then = served_;
  wait(request.id, sequence);
}

void Scheduler::wait(uint64_t id, Sequence& sequence) {
  lines_[sequence.line].emplace(sequence.arrival, id);
  ++waiting_;
}

void Scheduler::cancel(uint64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second.cancelled) return;
  Sequence& sequence = found->second;
  if (!sequence.running) {
    const auto line = lines_.find(sequence.line);
    line->second.erase(sequence.arrival);
    if (line->second.empty()) lines_.erase(line);
    --waiting_;
    return forget(id);
  }
  make_unready(id, sequence);
  if (sequence.in_flight == 0) return forget(id);
  sequence.cancelled = true;
  ++cancelled_;
}

std::vector<TokenEvent> Scheduler::complete(uint64_t step, std::span<const int32_t> tokens,
                                            double seconds) {
  if (steps_.empty() || steps_.front().id != step ||
      steps_.front().slices.size() != tokens.size()) {
    throw Error(
        ErrorCode::failed,
        fmt::format("the ranks answered step {} with {} slices, but {}", step, tokens.size(),
                    steps_.empty() ? std::string("no step is in flight")
                                   : fmt::format("step {} with {} slices was next",
                                                 steps_.front().id, steps_.front().slices.size())));
  }
  const StepOut done = std::move(steps_.front());
  steps_.pop_front();
  pace_.saw(done.content, seconds);

  std::vector<TokenEvent> events;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto [id, wants_token] = done.slices[i];
    Sequence& sequence = sequences_.at(id);
    --sequence.in_flight;
    if (sequence.cancelled) {
      if (sequence.in_flight > 0) continue;
      --cancelled_;
      forget(id);
    } else if (wants_token) {
      const Finish finish = append(sequence, tokens[i]);
      events.push_back({id, tokens[i], finish, i, sequence.reused.value_or(0)});
      std::erase(alone_, id);
      go_on(id, sequence, finish);
    }
  }
  return events;
}

Finish Scheduler::append(Sequence& sequence, int32_t token) {
  sequence.tokens.push_back(token);
  ++group_of(sequence).tokens;
  ++served_;
  sequence.tenant->served += FairShare::produced_weight;
  if (std::find(sequence.stop_ids.begin(), sequence.stop_ids.end(), token) !=
      sequence.stop_ids.end()) {
    return Finish::stop;
  }
  const auto produced = static_cast<int32_t>(sequence.tokens.size()) - sequence.prompt_tokens;
  return produced >= sequence.max_tokens ? Finish::length : Finish::none;
}

void Scheduler::go_on(uint64_t id, Sequence& sequence, Finish finish) {
  if (finish != Finish::none) return forget(id);
  const int32_t beyond = options_.recompute_beyond;
  if (beyond > 0 && static_cast<int32_t>(sequence.tokens.size()) == beyond + 1) {
    leave(id, sequence);
    wait(id, sequence);
  } else {
    make_ready(id, sequence);
  }
}

int64_t Scheduler::lose_ranks() {
  int64_t lost = 0;
  steps_.clear();
  cancelled_ = 0;
  std::vector<uint64_t> gone;
  for (auto& [id, sequence] : sequences_) {
    sequence.in_flight = 0;
    if (sequence.cancelled) gone.push_back(id);
    if (sequence.cancelled || !sequence.running) continue;
    lost += sequence.cached;
    leave(id, sequence);
    sequence.preempted = true;
    wait(id, sequence);
  }
  for (const uint64_t id : gone) forget(id);
  for (Group& group : groups_) group.pages.forget_all();
  return lost;
}

void Scheduler::isolate(uint64_t id) {
  if (sequences_.contains(id)) alone_.push_back(id);
}

void Scheduler::hold(uint64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  found->second.held = true;
  if (found->second.running) make_unready(id, found->second);
}

void Scheduler::release(uint64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || !std::exchange(found->second.held, false)) return;
  Sequence& sequence = found->second;
  const bool wholly_out = sequence.cached == static_cast<int32_t>(sequence.tokens.size());
  if (sequence.running && !sequence.cancelled && !wholly_out) make_ready(id, sequence);
}

std::span<const int32_t> Scheduler::tokens(uint64_t id) const {
  return sequences_.at(id).tokens;
}

void Scheduler::make_ready(uint64_t id, Sequence& sequence) {
  if (sequence.held) return;
  Group& group = group_of(sequence);
  const auto left = static_cast<int32_t>(sequence.tokens.size()) - sequence.cached;
  // One token of a sequence that has begun is a decode, be it the last of its prompt.
  if (sequence.cached > 0 && left == 1) {
    group.decoding.push_back(id);
    return;
  }
  PromptLine& line = group.filling[sequence.line];
  sequence.place = line.shares.enter(left);
  line.order.emplace(sequence.place, sequence.arrival, id);
}

void Scheduler::make_unready(uint64_t id, const Sequence& sequence) {
  Group& group = group_of(sequence);
  std::erase(group.decoding, id);
  const auto line = group.filling.find(sequence.line);
  if (line == group.filling.end()) return;
  if (line->second.order.erase({sequence.place, sequence.arrival, id}) == 0) return;
  if (sequence.cached < static_cast<int32_t>(sequence.tokens.size())) {
    line->second.shares.leave(sequence.place);
  }
  if (line->second.order.empty()) group.filling.erase(line);
}

void Scheduler::leave(uint64_t id, Sequence& sequence) {
  make_unready(id, sequence);
  Group& group = group_of(sequence);
  break_promises(sequence);
  for (const BlockRun& run : sequence.runs) group.pages.release(run.blocks);
  group.states.give_back(sequence.state);
  group.order.erase({place_of(sequence), id});
  group.tokens -= static_cast<int64_t>(sequence.tokens.size());
  sequence.runs.clear();
  sequence.running = false;
}

void Scheduler::preempt(uint64_t id) {
  Sequence& sequence = sequences_.at(id);
  leave(id, sequence);
  sequence.preempted = true;
  ++preemptions_;
  wait(id, sequence);
}

void Scheduler::forget(uint64_t id) {
  Sequence& sequence = sequences_.at(id);
  if (sequence.running) leave(id, sequence);
  shares_.leave(sequence.line.second);
  sequences_.erase(id);
}

int64_t Scheduler::running() const {
  return static_cast<int64_t>(sequences_.size()) - waiting_ - cancelled_;
}

ScheduleCounts Scheduler::counts() const {
  ScheduleCounts counts{preemptions_, prefix_queries_, prefix_hits_, 0, 0};
  for (const Group& group : groups_) {
    counts.held_pages += group.pages.held();
    counts.idle_pages += group.pages.idle();
  }
  return counts;
}

}  // namespace dure
