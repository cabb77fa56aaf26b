// The thread that owns the scheduler and the group: takes generations in, sends steps, hands out
// their text, survives the death of the ranks. Everybody else talks to it through this header.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/scheduler.h"
#include "server/expert_balance.h"
#include "server/generation.h"
#include "server/live_requests.h"
#include "server/supervisor.h"
#include "text/tokenizer.h"
#include "trace/event.h"
#include "trace/trace_events.h"

namespace dure {

struct EngineOptions {
  ScheduleOptions schedule;
  int32_t vocab = 0;        // tokens that the ranks may answer with
  int max_requests = 1024;  // running and waiting; more are refused
  int mask_threads = 2;     // make what the engine's thread has no time for (mask_workers.h)
  RestartPolicy restart;
  std::chrono::milliseconds step_timeout{90'000};  // then the group is taken for dead
  // On the engine's thread.
  std::function<void(const LoadProgress&)> on_progress;
  std::function<void(TracedStep)> on_step;     // that was answered; empty: nobody wants to know
  std::function<void(const Event&)> on_event;  // deaths, restarts, what became of requests
  // A request whose steps the ranks died in so many times, without a token in between, fails; the
  // last time it is alone in them.
  int deaths_of_poison = 3;
  // Groups that die before they are ready, one after another, until waiting requests are failed.
  int failed_restarts = 5;
};

// Of all groups since the server started.
struct RankMeasures {
  GroupStats totals;
  std::vector<ExpertBalance::Ratio> imbalance;
};

struct EngineStatus {
  GroupState state = GroupState::loading;
  std::string last_error;                      // of the last death, if any
  std::array<int64_t, end_causes> restarts{};  // by what the group before had ended of
  std::optional<GroupReady> ready;             // the running group's report
  int64_t running = 0;
  int64_t waiting = 0;
  ScheduleCounts schedule;
  int64_t total_pages = 0;
  int64_t replayed_tokens = 0;  // computed anew because ranks had died
  RequestCounts counts;
  RequestHistograms histograms;
  double stalled_s = 0.0;  // since the last progress, while a step is out
};

class EngineLoop {
 public:
  // Starts the thread and the group.
  EngineLoop(EngineOptions options, std::shared_ptr<const Tokenizer> tokenizer,
             GroupFactory factory);
  ~EngineLoop();

  // All or none. Returns their ids. Throws unavailable while the group loads for the first time or
  // after it has failed, overloaded at max_requests; later trouble goes to the sinks. While a group
  // that has served is started again, requests wait.
  std::vector<uint64_t> submit(std::vector<Generation> generations);
  void cancel(std::span<const uint64_t> ids);

  EngineStatus status() const;

  // By `answer` on some thread: the ranks' measurements, as of now if they answer in time, else as
  // they last told them.
  void ask_measures(std::function<void(const RankMeasures&)> answer);

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
