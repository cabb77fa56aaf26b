// The engine's thread, the part that talks with the ranks: steps out, answers in, deaths.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "server/engine_events.h"
#include "server/engine_thread.h"

namespace dure {
namespace {

// That this thread does for masks, each and of one step together: some 0.2 and 4 ms.
constexpr uint64_t most_work_of_mask = 20'000;
constexpr uint64_t work_of_masks = 400'000;

// Of a slice's result that is no token (protocol/messages.h).
Error error_of_token(int32_t result) {
  if (result == no_token_left) {
    return Error(ErrorCode::bad_input, "no token may come next",
                 "allowed_token_ids, bad_words, logit_bias and a grammar together leave none");
  }
  return Error(ErrorCode::failed, "the model's logits are not numbers",
               "the checkpoint may be damaged: `dure verify` compares it with its records");
}

// While ranks work, their measurements are asked for so often, so that little is lost with them.
constexpr auto measures_interval = std::chrono::milliseconds(250);

// A prompt's last chunk may be one token, too; it takes as long as a decode.
StepKind kind_of(const StepPlan& plan) {
  const auto ones =
      std::count_if(plan.slices.begin(), plan.slices.end(),
                    [](const PlannedSlice& slice) { return slice.tokens.size() == 1; });
  if (ones == static_cast<std::ptrdiff_t>(plan.slices.size())) return StepKind::decode;
  return ones == 0 ? StepKind::prefill : StepKind::mixed;
}

}  // namespace

void EngineLoop::Thread::send_steps() {
  while (supervisor_.state() == GroupState::ready) {
    std::optional<StepPlan> plan = scheduler_.next_step();
    if (!plan) return;
    const auto now = Clock::now();
    if (sent_.empty()) last_progress_ = now;
    SentStep& sent = sent_.emplace_back();
    sent.id = plan->id;
    sent.at = now;
    sent.kind = kind_of(*plan);
    Step step;
    step.id = plan->id;
    step.slices.reserve(plan->slices.size());
    for (PlannedSlice& planned : plan->slices) {
      sent.sequences.push_back(planned.sequence);
      sent.starts.push_back(planned.start);
      sent.wants_token.push_back(planned.wants_token);
      step.slices.push_back(slice_of(std::move(planned)));
    }
    for (const Slice& slice : step.slices) {
      sent.tokens += static_cast<int64_t>(slice.tokens.size());
    }
    live_.histograms().step(sent.tokens);
    // Told before sending, which may block when the ranks do not read: /health must see it.
    publish();
    supervisor_.send(step);
  }
}

Slice EngineLoop::Thread::slice_of(PlannedSlice planned) {
  const uint64_t id = planned.sequence;
  const std::span<const int32_t> tokens = scheduler_.tokens(id);
  Slice slice;
  slice.sequence = id;
  slice.dp = planned.dp;
  slice.start = planned.start;
  slice.length = planned.length;
  slice.tokens = std::move(planned.tokens);
  for (PlannedTable& table : planned.tables) {
    slice.tables.push_back({table.first, std::move(table.pages)});
  }
  slice.state = planned.state;
  slice.want = planned.wants_token ? Want::token : Want::nothing;
  if (planned.enters) {
    live_.started(id, Clock::now());
    slice.setup = live_.setup(id, tokens, planned.start);
  }
  const auto end = slice.start + static_cast<int32_t>(slice.tokens.size());
  slice.next_token = live_.next_prompt_token(id, tokens, end);
  if (planned.wants_token) slice.mask = live_.mask(id);
  return slice;
}

// What the sequence's next token may be. Most masks were made before and take next to nothing; one
// that takes long is made elsewhere, and until then the others go on without this sequence.
void EngineLoop::Thread::find_mask(uint64_t id, uint64_t& work) {
  const std::shared_ptr<TokenConstraint>& constraint = live_.constraint(id);
  if (!constraint) return;
  const uint64_t before = std::min(work, most_work_of_mask);
  uint64_t left = before;
  std::optional<std::vector<uint64_t>> mask = constraint->mask_within(left);
  work -= before - left;
  if (mask) return live_.set_mask(id, std::move(*mask));
  scheduler_.hold(id);
  masks_.ask({id, constraint});
}

void EngineLoop::Thread::handle(GroupEvent& mail) {
  if (!supervisor_.is_current(mail)) return;
  std::visit([this](auto& what) { on(what); }, mail.what);
}

void EngineLoop::Thread::on(const LoadProgress& progress) {
  if (options_.on_progress) options_.on_progress(progress);
}

void EngineLoop::Thread::on(const GroupReady& ready) {
  ready_ = ready;
  failed_restarts_ = 0;
  supervisor_.became_ready(Clock::now());
}

void EngineLoop::Thread::on(StepDone& step) {
  const auto mismatch = [&](const std::string& what) {
    GroupFailed failure;
    failure.code = static_cast<uint8_t>(ErrorCode::failed);
    failure.message = fmt::format("the ranks' answer to step {} {}", step.id, what);
    failure.where.step = static_cast<int64_t>(step.id);
    group_died(failure);
  };
  if (sent_.empty() || sent_.front().id != step.id ||
      sent_.front().sequences.size() != step.slices.size()) {
    return mismatch("is not one to the step that is next");
  }
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < step.slices.size(); ++i) {
    const SliceResult& slice = step.slices[i];
    if (slice.sequence != sent_.front().sequences[i]) return mismatch("names another sequence");
    if (sent_.front().wants_token[i] && slice.token >= options_.vocab) {
      return mismatch(fmt::format("has token {}, outside the vocabulary", slice.token));
    }
    tokens.push_back(slice.token);
  }
  const SentStep sent = std::move(sent_.front());
  sent_.pop_front();
  const auto now = Clock::now();
  const std::chrono::duration<double> took = now - std::max(last_progress_, sent.at);
  last_progress_ = now;
  tell_step(sent, now);
  live_.histograms().step_took(sent.kind, took.count());
  if (now - asked_at_ >= measures_interval) ask_ranks();

  for (size_t i = 0; i < step.slices.size(); ++i) {
    std::vector<TokenLogprobs>& prompt = step.slices[i].prompt_logprobs;
    if (prompt.empty() || !live_.contains(sent.sequences[i])) continue;
    live_.add_prompt_logprobs(sent.sequences[i], sent.starts[i], std::move(prompt));
  }
  uint64_t mask_work = work_of_masks;
  for (const TokenEvent& event : scheduler_.complete(step.id, tokens, took.count())) {
    if (event.token < 0) {
      live_.fail(event.sequence, error_of_token(event.token));
    } else if (!live_.apply(event, std::move(step.slices[event.slice].logprobs), now)) {
      find_mask(event.sequence, mask_work);
      continue;
    }
    scheduler_.cancel(event.sequence);  // where only the text knows: a stop string
  }
}

void EngineLoop::Thread::tell_step(const SentStep& sent, Clock::time_point now) const {
  if (!options_.on_step) return;
  TracedStep step;
  step.id = sent.id;
  step.sent_ns = ns_of(sent.at);
  step.done_ns = ns_of(now);
  step.lane = static_cast<int32_t>(
      sent.id % static_cast<uint64_t>(std::max(1, options_.schedule.steps_in_flight)));
  step.kind = to_string(sent.kind);
  step.slices = static_cast<int64_t>(sent.sequences.size());
  step.tokens = sent.tokens;
  options_.on_step(std::move(step));
}

void EngineLoop::Thread::on(const GroupStats& stats) {
  question_out_ = false;
  totals_.heard(stats);
  balance_.heard(totals_.sum(), Clock::now());
  answer_measures();
}

void EngineLoop::Thread::on(const GroupFailed& failure) {
  group_died(failure);
}

void EngineLoop::Thread::check_timeouts() {
  const auto now = Clock::now();
  if (!waiting_answers_.empty() && now >= answers_deadline_) answer_measures();
  if (!sent_.empty() && now >= last_progress_ + options_.step_timeout) {
    GroupFailed failure;
    failure.code = static_cast<uint8_t>(ErrorCode::failed);
    failure.message = fmt::format("step {} was not answered within {:.0f} s", sent_.front().id,
                                  std::chrono::duration<double>(options_.step_timeout).count());
    failure.cause = EndCause::stalled;
    failure.where.step = static_cast<int64_t>(sent_.front().id);
    group_died(failure);
  }
}

void EngineLoop::Thread::tell(const Event& event) const {
  if (options_.on_event) options_.on_event(event);
}

void EngineLoop::Thread::group_died(const GroupFailed& failure) {
  const Error error = error_of(failure);
  // A client that is told so must not find the server ready a moment later.
  if (supervisor_.state() == GroupState::ready) {
    const std::lock_guard lock(mutex_);
    status_.state = GroupState::restarting;
    status_.ready.reset();
    status_.last_error = error.message();
  }
  tell(event_of(failure));
  suspect_those_in_flight(error);
  sent_.clear();
  const int64_t replayed = scheduler_.lose_ranks();
  replayed_tokens_ += replayed;
  if (supervisor_.state() == GroupState::loading || ++failed_restarts_ > options_.failed_restarts) {
    if (live_.size() > 0) tell(given_up_event(live_.size()));
    live_.fail_all(Error(ErrorCode::unavailable,
                         fmt::format("the model's ranks died: {}", error.message()),
                         "they are being restarted: try again"));
    scheduler_ = Scheduler(options_.schedule);
  } else if (live_.size() > 0) {
    tell(replay_event(live_.size(), replayed));
  }
  question_out_ = false;
  totals_.group_ended();
  answer_measures();
  ready_.reset();
  supervisor_.died(failure, Clock::now());
}

// Nobody is told: what was in flight is computed again. But if it is a request that the ranks die
// of, they would do so for ever. Whoever was there twice without a token in between is computed
// alone the third time, so that only the guilty one is there a third time.
void EngineLoop::Thread::suspect_those_in_flight(const Error& error) {
  std::set<uint64_t> in_flight;
  for (const SentStep& step : sent_) in_flight.insert(step.sequences.begin(), step.sequences.end());
  for (const uint64_t id : in_flight) {
    if (!live_.contains(id)) continue;
    const int deaths = live_.died_with(id);
    if (deaths >= options_.deaths_of_poison) {
      tell(poison_event(live_.request_of(id), deaths));
      scheduler_.cancel(id);
      live_.fail(id, Error(ErrorCode::failed,
                           fmt::format("the model's ranks died {} times while they computed this "
                                       "request, the last time alone: {}",
                                       deaths, error.message()),
                           "do not send it again; the server's log has the ranks' last words"));
    } else if (deaths + 1 >= options_.deaths_of_poison) {
      tell(suspect_event(live_.request_of(id), deaths));
      scheduler_.isolate(id);
    }
  }
}

}  // namespace dure
