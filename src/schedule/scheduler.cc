// The life of a sequence in the scheduler: submitted, admitted, advanced by steps, finished or
// cancelled. What a step is made of is in scheduler_plan.cc.
#include "schedule/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dure {

Scheduler::Scheduler(const ScheduleOptions& options) : options_(options) {
  const auto require = [](int32_t value, const char* name) {
    if (value < 1) throw_bad_input(fmt::format("scheduler: {} is {}, below 1", name, value));
  };
  require(options.dp, "dp");
  require(options.page_tokens, "page_tokens");
  require(options.pages, "pages");
  require(options.max_batch_tokens, "max_batch_tokens");
  require(options.max_running, "max_running");
  require(options.steps_in_flight, "steps_in_flight");
  groups_.assign(static_cast<size_t>(options.dp), Group(options.pages, options.max_running));
}

int64_t Scheduler::longest_sequence() const {
  // The last token produced is never fed back, so it needs no room.
  return int64_t{options_.pages} * options_.page_tokens + 1;
}

int64_t Scheduler::pages_needed(int64_t prompt_tokens, int64_t max_tokens) const {
  return (prompt_tokens + max_tokens - 1 + options_.page_tokens - 1) / options_.page_tokens;
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
  Sequence sequence;
  sequence.arrival = next_arrival_++;
  sequence.prompt_tokens = static_cast<int32_t>(prompt);
  sequence.tokens = std::move(request.prompt);
  sequence.max_tokens = request.max_tokens;
  sequence.stop_ids = std::move(request.stop_ids);
  waiting_.emplace(sequence.arrival, request.id);
  sequences_.emplace(request.id, std::move(sequence));
}

void Scheduler::cancel(uint64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second.cancelled) return;
  Sequence& sequence = found->second;
  if (waiting_.erase(sequence.arrival) > 0) {
    sequences_.erase(found);
    return;
  }
  if (sequence.in_flight) {
    sequence.cancelled = true;
    return;
  }
  Group& group = groups_[static_cast<size_t>(sequence.dp)];
  std::erase(group.decoding, id);
  group.filling.erase(sequence.arrival);
  forget(id);
}

std::vector<TokenEvent> Scheduler::complete(uint64_t step, std::span<const int32_t> tokens) {
  if (steps_.empty() || steps_.front().id != step ||
      steps_.front().sequences.size() != tokens.size()) {
    throw Error(
        ErrorCode::failed,
        fmt::format("the ranks answered step {} with {} slices, but {}", step, tokens.size(),
                    steps_.empty()
                        ? std::string("no step is in flight")
                        : fmt::format("step {} with {} slices was next", steps_.front().id,
                                      steps_.front().sequences.size())));
  }
  const StepOut done = std::move(steps_.front());
  steps_.pop_front();

  std::vector<TokenEvent> events;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint64_t id = done.sequences[i];
    Sequence& sequence = sequences_.at(id);
    sequence.in_flight = false;
    if (sequence.cancelled) {
      forget(id);
      continue;
    }
    if (sequence.cached < static_cast<int32_t>(sequence.tokens.size())) {  // more prompt to come
      make_ready(id, sequence);
      continue;
    }
    const Finish finish = append(sequence, tokens[i]);
    events.push_back({id, tokens[i], finish});
    if (finish == Finish::none) {
      const auto length = static_cast<int32_t>(sequence.tokens.size());
      const bool crossed = length == options_.recompute_beyond + 1;
      if (options_.recompute_beyond > 0 && crossed) sequence.cached = 0;
      make_ready(id, sequence);
    } else {
      forget(id);
    }
  }
  return events;
}

Finish Scheduler::append(Sequence& sequence, int32_t token) {
  sequence.tokens.push_back(token);
  if (std::find(sequence.stop_ids.begin(), sequence.stop_ids.end(), token) !=
      sequence.stop_ids.end()) {
    return Finish::stop;
  }
  const auto produced = static_cast<int32_t>(sequence.tokens.size()) - sequence.prompt_tokens;
  return produced >= sequence.max_tokens ? Finish::length : Finish::none;
}

void Scheduler::forget(uint64_t id) {
  const Sequence& sequence = sequences_.at(id);
  Group& group = groups_[static_cast<size_t>(sequence.dp)];
  group.pages.release(sequence.pages);
  group.states.release(sequence.state);
  --group.running;
  sequences_.erase(id);
}

int64_t Scheduler::running() const {
  int64_t count = static_cast<int64_t>(sequences_.size() - waiting_.size());
  for (const StepOut& step : steps_) {
    for (const uint64_t id : step.sequences) count -= sequences_.at(id).cancelled ? 1 : 0;
  }
  return count;
}

int64_t Scheduler::held_pages() const {
  int64_t count = 0;
  for (const Group& group : groups_) count += group.pages.held();
  return count;
}

}  // namespace dure
