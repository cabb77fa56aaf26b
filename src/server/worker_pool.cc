// See worker_pool.h.
#include "server/worker_pool.h"

#include <sys/resource.h>

#include "base/error.h"

namespace dure {
namespace {

// Below the ranks' and the engine's threads: a long text must not slow the answers under way.
void yield_to_others() {
  constexpr int niceness = 5;
  ::setpriority(PRIO_PROCESS, 0, niceness);  // on Linux, of the calling thread only
}

}  // namespace

WorkerPool::WorkerPool(int threads, size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= max_waiting_) {
      throw Error(ErrorCode::overloaded, "too many requests are waiting to be read",
                  "try again later");
    }
    jobs_.push_back(std::move(job));
  }
  arrived_.notify_one();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  jobs_.clear();
}

void WorkerPool::run() {
  yield_to_others();
  for (;;) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
  }
}

}  // namespace dure
