// See thread_pool.h.
#include "base/thread_pool.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>

#include "base/error.h"

namespace dure {
namespace {

constexpr int open_job = 1 << 30;
constexpr int stop = -1;
// Long enough to bridge the gap between two operations of a layer, short enough that idle ranks
// leave the cores to others.
constexpr std::chrono::microseconds spin_time{20};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { worker_loop(i); });
  } catch (const std::system_error& error) {
    const size_t started = workers_.size() + 1;
    end_workers();
    throw Error(
        ErrorCode::failed,
        fmt::format("the system gives no more than {} of {} threads: {}", started, threads,
                    error.code().message()),
        "raise the limit of processes or memory (ulimit -u, -v; pids.max of the container), "
        "or take fewer threads");
  }
}

ThreadPool::~ThreadPool() {
  end_workers();
}

void ThreadPool::end_workers() {
  job_.store(stop);
  job_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Waits until `state` is no longer `seen` and returns its value: spins first, then sleeps.
int ThreadPool::await_change(const std::atomic<int>& state, int seen) {
  const auto deadline = std::chrono::steady_clock::now() + spin_time;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      const int value = state.load(std::memory_order_acquire);
      if (value != seen) return value;
      relax();
    }
    if (std::chrono::steady_clock::now() >= deadline) break;
  }
  state.wait(seen, std::memory_order_acquire);
  return state.load(std::memory_order_acquire);
}

void ThreadPool::work(int thread) {
  for (;;) {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    call_(fn_, index, thread);
  }
}

bool ThreadPool::join_job() {
  int inside = inside_.load(std::memory_order_relaxed);
  while (inside & open_job) {
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadPool::worker_loop(int thread) {
  int seen = 0;
  for (;;) {
    seen = await_change(job_, seen);
    if (seen == stop) return;
    if (!join_job()) continue;
    work(thread);
    if (inside_.fetch_sub(1, std::memory_order_release) == 1) inside_.notify_one();
  }
}

void ThreadPool::start_and_wait(int64_t count, Call call, const void* fn) {
  call_ = call;
  fn_ = fn;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  inside_.store(open_job, std::memory_order_release);
  job_.store((job_.load(std::memory_order_relaxed) + 1) & ~(1 << 31), std::memory_order_release);
  job_.notify_all();
  work(0);
  // Close the job, then wait for those still inside.
  int inside = inside_.fetch_and(~open_job, std::memory_order_acquire) & ~open_job;
  while (inside != 0) inside = await_change(inside_, inside);
}

}  // namespace dure
