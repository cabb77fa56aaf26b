// See supervisor.h.
#include "server/supervisor.h"

#include <algorithm>

namespace dure {

std::string_view to_string(GroupState state) {
  switch (state) {
    case GroupState::loading:
      return "loading";
    case GroupState::ready:
      return "ready";
    case GroupState::restarting:
      return "restarting";
    case GroupState::stopping:
      return "stopping";
    case GroupState::failed:
      return "failed";
  }
  return "unknown";
}

Error error_of(const GroupFailed& failure) {
  constexpr auto last = static_cast<uint8_t>(ErrorCode::failed);
  const auto code = static_cast<ErrorCode>(std::min(failure.code, last));
  return Error(code, failure.message, failure.hint);
}

Supervisor::Supervisor(GroupFactory factory, std::function<void(GroupEvent)> post,
                       RestartPolicy policy)
    : factory_(std::move(factory)), post_(std::move(post)), policy_(policy) {}

Supervisor::~Supervisor() = default;

void Supervisor::start() {
  launch();
}

// A group that could not be launched has died as any other: by an event.
void Supervisor::launch() {
  const int incarnation = ++incarnation_;
  const auto forward = [post = post_, incarnation](auto what) {
    post(GroupEvent{incarnation, std::move(what)});
  };
  Group::Events events;
  events.on_progress = [forward](const LoadProgress& progress) { forward(progress); };
  events.on_ready = [forward](const GroupReady& ready) { forward(ready); };
  events.on_step = [forward](StepDone step) { forward(std::move(step)); };
  events.on_stats = [forward](GroupStats stats) { forward(std::move(stats)); };
  events.on_failed = [forward](const GroupFailed& failure) { forward(failure); };
  try {
    group_ = factory_(std::move(events));
  } catch (const Error& error) {
    GroupFailed failure;
    failure.code = static_cast<uint8_t>(error.code());
    failure.message = error.message();
    failure.hint = error.hint();
    forward(failure);
  }
}

void Supervisor::tick(Time now) {
  if (state_ != GroupState::restarting || group_ || now < restart_at_) return;
  ++restarts_[static_cast<size_t>(last_cause_)];
  restart_at_ = Time::max();  // until it has died too
  launch();
}

Supervisor::Time Supervisor::next_tick() const {
  return state_ == GroupState::restarting && !group_ ? restart_at_ : Time::max();
}

void Supervisor::became_ready(Time now) {
  if (state_ != GroupState::loading && state_ != GroupState::restarting) return;
  state_ = GroupState::ready;
  ready_since_ = now;
}

void Supervisor::died(const GroupFailed& failure, Time now) {
  ++incarnation_;
  group_.reset();
  last_error_ = error_of(failure);
  last_cause_ = failure.cause;
  if (state_ == GroupState::stopping) return;
  if (state_ == GroupState::loading) {
    state_ = GroupState::failed;
    return;
  }
  const bool served_long =
      state_ == GroupState::ready && now - ready_since_ >= policy_.forgive_after;
  wait_ = wait_.count() == 0 || served_long ? policy_.first_wait
                                            : std::min(wait_ * 2, policy_.longest_wait);
  restart_at_ = now + wait_;
  state_ = GroupState::restarting;
}

void Supervisor::stop(bool orderly) {
  state_ = GroupState::stopping;
  ++incarnation_;
  if (group_ && orderly) group_->stop();
  group_.reset();
}

void Supervisor::send(const ToRanks& message) {
  DURE_CHECK(group_ && state_ == GroupState::ready);
  group_->send(message);
}

}  // namespace dure
