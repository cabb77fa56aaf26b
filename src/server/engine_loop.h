// The thread that owns the scheduler and the group: takes generations in, sends steps, hands out
// their text, survives the death of the ranks. Everybody else talks to it through this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/scheduler.h"
#include "server/generation.h"
#include "server/live_requests.h"
#include "server/supervisor.h"
#include "text/tokenizer.h"

namespace dure {

struct EngineOptions {
  ScheduleOptions schedule;
  int32_t vocab = 0;        // tokens that the ranks may answer with
  int max_requests = 1024;  // running and waiting; more are refused
  RestartPolicy restart;
  std::chrono::milliseconds step_timeout{90'000};  // then the group is taken for dead
  // On the engine's thread.
  std::function<void(const LoadProgress&)> on_progress;
  std::function<void(const Error& why)> on_death;  // of a group, before it is started again
};

struct EngineStatus {
  GroupState state = GroupState::loading;
  std::string last_error;  // of the last death, if any
  int restarts = 0;
  std::optional<GroupReady> ready;  // the running group's report
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t held_pages = 0;
  int64_t total_pages = 0;
  RequestCounts counts;
  double stalled_s = 0.0;  // since the last progress, while a step is out
};

class EngineLoop {
 public:
  // Starts the thread and the group.
  EngineLoop(EngineOptions options, std::shared_ptr<const Tokenizer> tokenizer,
             GroupFactory factory);
  ~EngineLoop();

  // All or none. Returns their ids. Throws unavailable while the group is not ready, overloaded at
  // max_requests; later trouble goes to the sinks.
  std::vector<uint64_t> submit(std::vector<Generation> generations);
  void cancel(std::span<const uint64_t> ids);

  EngineStatus status() const;

  // The ranks' counters, by `answer` on some thread, or nothing if they do not answer in time.
  void ask_stats(std::function<void(std::optional<GroupStats>)> answer);

  // Blocks until the group has loaded. Throws what it failed with, or `unavailable` after a drain.
  GroupReady wait_ready();

  // Refuses new work, waits for what is running at most this long, then ends the group. Returns
  // at once; wait_stopped() returns when it is over.
  void drain(std::chrono::milliseconds at_most);
  void stop_now();
  void wait_stopped();

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace dure
