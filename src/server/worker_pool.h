// Threads for the work of a request that takes long enough to be felt by others: reading its JSON,
// rendering its template, cutting a long text into tokens.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dure {

class WorkerPool {
 public:
  // At most `max_waiting` jobs wait for a thread.
  WorkerPool(int threads, size_t max_waiting);
  ~WorkerPool();  // as stop()

  // Jobs must not throw. Throws overloaded when too many are waiting.
  void post(std::function<void()> job);
  // Finishes the jobs under way, forgets the others.
  void stop();

 private:
  void run();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dure
