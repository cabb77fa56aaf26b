// The engine's thread, the part that talks with the ranks: steps out, answers in, deaths.
#include <fmt/format.h>

#include "server/engine_thread.h"

namespace dure {

void EngineLoop::Thread::send_steps() {
  while (supervisor_.state() == GroupState::ready) {
    std::optional<StepPlan> plan = scheduler_.next_step();
    if (!plan) return;
    if (sent_.empty()) last_progress_ = Clock::now();
    SentStep& sent = sent_.emplace_back();
    sent.id = plan->id;
    Step step;
    step.id = plan->id;
    step.slices.reserve(plan->slices.size());
    for (PlannedSlice& planned : plan->slices) {
      sent.sequences.push_back(planned.sequence);
      sent.wants_token.push_back(planned.wants_token);
      Slice& slice = step.slices.emplace_back();
      slice.sequence = planned.sequence;
      slice.dp = planned.dp;
      slice.start = planned.start;
      slice.length = planned.length;
      slice.tokens = std::move(planned.tokens);
      slice.pages = std::move(planned.pages);
      slice.state = planned.state;
      slice.want = planned.wants_token ? Want::token : Want::nothing;
      if (planned.start == 0) slice.setup = live_.setup(planned.sequence);
    }
    // Told before sending, which may block when the ranks do not read: /health must see it.
    publish();
    supervisor_.send(step);
  }
}

void EngineLoop::Thread::handle(GroupEvent& mail) {
  if (!supervisor_.is_current(mail)) return;
  std::visit([this](const auto& what) { on(what); }, mail.what);
}

void EngineLoop::Thread::on(const LoadProgress& progress) {
  if (options_.on_progress) options_.on_progress(progress);
}

void EngineLoop::Thread::on(const GroupReady& ready) {
  ready_ = ready;
  supervisor_.became_ready(Clock::now());
}

void EngineLoop::Thread::on(const StepDone& step) {
  const auto mismatch = [&](const std::string& what) {
    group_died(
        Error(ErrorCode::failed, fmt::format("the ranks' answer to step {} {}", step.id, what)));
  };
  if (sent_.empty() || sent_.front().id != step.id ||
      sent_.front().sequences.size() != step.slices.size()) {
    return mismatch("is not one to the step that is next");
  }
  const SentStep sent = std::move(sent_.front());
  sent_.pop_front();
  last_progress_ = Clock::now();

  std::vector<int32_t> tokens;
  for (size_t i = 0; i < step.slices.size(); ++i) {
    const SliceResult& slice = step.slices[i];
    if (slice.sequence != sent.sequences[i]) return mismatch("names another sequence");
    if (sent.wants_token[i] && slice.token >= options_.vocab) {
      return mismatch(fmt::format("has token {}, outside the vocabulary", slice.token));
    }
    tokens.push_back(slice.token);
  }
  for (const TokenEvent& event : scheduler_.complete(step.id, tokens)) {
    if (event.token < 0) {
      live_.fail(
          event.sequence,
          Error(ErrorCode::failed, "the model's logits are not numbers",
                "the checkpoint may be damaged: `dure verify` compares it with its records"));
    } else if (!live_.apply(event)) {
      continue;
    }
    --admitted_;
    scheduler_.cancel(event.sequence);  // where only the text knows: a stop string
  }
}

void EngineLoop::Thread::on(const GroupStats& stats) {
  answer_stats(stats);
}

void EngineLoop::Thread::on(const GroupFailed& failure) {
  group_died(error_of(failure));
}

void EngineLoop::Thread::check_timeouts() {
  const auto now = Clock::now();
  if (!stats_answers_.empty() && now >= stats_deadline_) answer_stats(std::nullopt);
  if (!sent_.empty() && now >= last_progress_ + options_.step_timeout) {
    group_died(Error(ErrorCode::failed,
                     fmt::format("step {} was not answered within {:.0f} s", sent_.front().id,
                                 std::chrono::duration<double>(options_.step_timeout).count())));
  }
}

void EngineLoop::Thread::group_died(const Error& error) {
  // A client that is told so must not find the server ready a moment later.
  if (supervisor_.state() == GroupState::ready) {
    const std::lock_guard lock(mutex_);
    status_.state = GroupState::restarting;
    status_.ready.reset();
    status_.last_error = error.message();
  }
  // The clients before the group: ending it may take a moment.
  const auto live = static_cast<int>(live_.size());
  live_.fail_all(Error(ErrorCode::unavailable,
                       fmt::format("the model's ranks died: {}", error.message()),
                       "they are being restarted: try again"));
  admitted_ -= live;
  sent_.clear();
  scheduler_ = Scheduler(options_.schedule);
  answer_stats(std::nullopt);
  ready_.reset();
  if (options_.on_death) options_.on_death(error);
  supervisor_.died(error, Clock::now());
}

}  // namespace dure
