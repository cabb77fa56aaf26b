// Keeps one group of ranks alive: starts it, and after it has served once, starts it again when it
// dies, waiting longer each time. Used by the engine's thread only; the clock is passed in.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/error.h"
#include "group/group.h"

namespace dure {

enum class GroupState {
  loading,  // for the first time
  ready,
  restarting,  // died, and is or will be loading again
  stopping,
  failed,  // never became ready: nothing that a restart would mend
};

std::string_view to_string(GroupState state);

using GroupFactory = std::function<std::unique_ptr<Group>(Group::Events)>;

// What a group says, and which one: a word of a dead group is not for its successor.
struct GroupEvent {
  int incarnation = 0;
  std::variant<LoadProgress, GroupReady, StepDone, GroupStats, GroupFailed> what;
};

struct RestartPolicy {
  std::chrono::milliseconds first_wait{50};
  std::chrono::milliseconds longest_wait{30'000};
  std::chrono::milliseconds forgive_after{5'000};  // of service: the next wait is the first again
};

class Supervisor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `post` is called by the groups' threads.
  Supervisor(GroupFactory factory, std::function<void(GroupEvent)> post, RestartPolicy policy);
  ~Supervisor();

  void start();
  void tick(Time now);  // restarts when it is time
  Time next_tick() const;

  bool is_current(const GroupEvent& event) const { return event.incarnation == incarnation_; }
  void became_ready(Time now);
  void died(const GroupFailed& failure, Time now);  // also ends what is left of the group
  void stop(bool orderly);                          // returns when no process is left

  GroupState state() const { return state_; }
  const Error& last_error() const { return last_error_; }  // valid after a death
  // By what the group before had ended of.
  const std::array<int64_t, end_causes>& restarts() const { return restarts_; }
  void send(const ToRanks& message);  // only when ready

 private:
  void launch();

  GroupFactory factory_;
  std::function<void(GroupEvent)> post_;
  RestartPolicy policy_;
  std::unique_ptr<Group> group_;
  GroupState state_ = GroupState::loading;
  int incarnation_ = 0;
  std::array<int64_t, end_causes> restarts_{};
  EndCause last_cause_ = EndCause::failed;
  std::chrono::milliseconds wait_{0};
  Time restart_at_{};
  Time ready_since_{};
  Error last_error_{ErrorCode::unavailable, ""};
};

Error error_of(const GroupFailed& failure);

}  // namespace dure
