// One group of ranks as its owner sees it: starts `mpirun … dure-rank`, hands it steps, watches it,
// ends it. No MPI in here: the ranks are other processes, reached by one socket to rank 0.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "group/weight_keeper.h"
#include "protocol/messages.h"
#include "trace/event.h"

namespace dure {

struct GroupOptions {
  StartGroup start;
  std::filesystem::path rank_program;    // dure-rank; empty: beside this executable
  std::string hosts_file;                // mpirun's --hostfile; empty: all on this machine
  std::shared_ptr<WeightKeeper> keeper;  // null: weights end with the ranks
  // What ranks write, and what befalls the keeper; from any thread. Empty: lines on stderr.
  std::function<void(const Event&)> say;
};

// Runs ranks until stopped or destroyed; destruction ends them at once and leaves no process,
// socket or file behind. When this process is killed, the ranks are gone within seconds all the
// same. Thread-safe. Callbacks come from the group's own thread, one at a time, and never destroy
// it.
class Group {
 public:
  struct Events {
    std::function<void(const LoadProgress&)> on_progress;
    std::function<void(const GroupReady&)> on_ready;
    std::function<void(StepDone)> on_step;
    std::function<void(GroupStats)> on_stats;
    // Where StartGroup asks for them.
    std::function<void(RankSpans)> on_spans;
    std::function<void(const ClockTold&)> on_clock;  // of ranks of other hosts, once each
    // The ranks are gone (all of them, by then). Comes once, and last; not after an orderly stop,
    // nor for destruction. What the ranks said of the reason if they could, else what is known from
    // outside: "rank 2 (pid 123) was killed by signal 9 (Killed)".
    std::function<void(const GroupFailed&)> on_failed;
  };

  // Starts the processes and returns at once. Throws bad_input / failed if mpirun or dure-rank
  // cannot be started at all.
  static std::unique_ptr<Group> launch(const GroupOptions& options, Events events);
  virtual ~Group() = default;

  // Step or AskStats; may come before the ranks are ready. Ignored after stop and after failure.
  virtual void send(const ToRanks& message) = 0;
  // Orderly: what was sent is finished, then the ranks end. Ranks that load are killed, and so are
  // those that answer nothing for five seconds. Returns when no process is left; called from a
  // callback, at once.
  virtual void stop() = 0;
};

// For commands that do one thing at a time (generate, verify): launches, waits until ready, runs
// steps one by one. Every call throws what the group failed with.
class BlockingGroup {
 public:
  explicit BlockingGroup(const GroupOptions& options,
                         std::function<void(const LoadProgress&)> on_progress = {});
  ~BlockingGroup();
  const GroupReady& ready() const;
  StepDone run(Step step);
  GroupStats stats();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
