// A fixed team of threads for data-parallel loops: run(count, fn) calls fn(index, thread) once for
// every index, handed out one at a time to whoever is free. Idle workers spin for a few
// microseconds and then sleep, since many rank processes may share the cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace dure {

class ThreadPool {
 public:
  // `threads` counts the caller; values below 1 mean 1, which runs everything inline. Throws
  // `failed` where the system gives fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(int64_t index, int thread) for index in [0, count), thread in [0, threads()), and
  // returns when all calls have returned. Which thread gets which index is not fixed. fn must not
  // throw or call run. One caller at a time.
  template <class Function>
  void run(int64_t count, const Function& fn) {
    if (count <= 1 || workers_.empty()) {
      for (int64_t i = 0; i < count; ++i) fn(i, 0);
      return;
    }
    start_and_wait(count, &call<Function>, &fn);
  }

 private:
  using Call = void (*)(const void* fn, int64_t index, int thread);
  template <class Function>
  static void call(const void* fn, int64_t index, int thread) {
    (*static_cast<const Function*>(fn))(index, thread);
  }

  void start_and_wait(int64_t count, Call call, const void* fn);
  void work(int thread);
  void end_workers();
  void worker_loop(int thread);
  int await_change(const std::atomic<int>& state, int seen);
  bool join_job();

  std::vector<std::thread> workers_;

  // The job. Written by the caller only while no worker is inside.
  Call call_ = nullptr;
  const void* fn_ = nullptr;
  int64_t count_ = 0;
  alignas(64) std::atomic<int64_t> next_{0};
  // Workers inside the job, plus `open` while it may be entered. A worker that wakes up late finds
  // the job closed and sleeps again, so a run never waits for a sleeper.
  alignas(64) std::atomic<int> inside_{0};
  // Counts jobs; workers sleep on it. Negative: stop.
  alignas(64) std::atomic<int> job_{0};
};

}  // namespace dure
