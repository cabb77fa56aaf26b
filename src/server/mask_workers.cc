// See mask_workers.h.
#include "server/mask_workers.h"

#include <sys/resource.h>

#include <ctime>
#include <exception>
#include <utility>

namespace dure {
namespace {

// Far below the ranks' and the engine's threads: what they compute is other people's answers too.
void yield_to_others() {
  constexpr int niceness = 10;
  ::setpriority(PRIO_PROCESS, 0, niceness);  // on Linux, of the calling thread only
}

// That this thread has computed; what it waited for others is no grammar's fault.
double thread_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

MaskReady made(const MaskJob& job) {
  MaskReady ready;
  ready.sequence = job.sequence;
  try {
    ready.mask = job.constraint->mask();
  } catch (const std::exception& error) {
    ready.error = Error(ErrorCode::failed, error.what());
  }
  return ready;
}

}  // namespace

MaskWorkers::MaskWorkers(int threads, std::function<void(MaskReady)> on_ready)
    : on_ready_(std::move(on_ready)), queue_(threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

MaskWorkers::~MaskWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MaskWorkers::ask(MaskJob job) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push(std::move(job));
  }
  changed_.notify_one();
}

void MaskWorkers::run() {
  yield_to_others();
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<MaskJob> job;
    changed_.wait(lock, [&] { return stopping_ || (job = queue_.take()); });
    if (stopping_) return;
    lock.unlock();
    const double begin = thread_seconds();
    MaskReady ready = made(*job);
    const double seconds = thread_seconds() - begin;
    lock.lock();
    queue_.done(*job, seconds);
    // Another of its grammar may have waited for this one.
    changed_.notify_one();
    lock.unlock();
    job.reset();
    on_ready_(std::move(ready));
    lock.lock();
  }
}

}  // namespace dure
