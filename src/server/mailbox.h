// Messages from any thread to the one that owns the mailbox.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace dure {

template <class Message>
class Mailbox {
 public:
  // False once the mailbox is closed: nobody will read it.
  bool post(Message message) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
    return true;
  }

  // What nobody has read.
  std::vector<Message> close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    return std::exchange(messages_, {});
  }

  // All messages in order, waiting for the first until `end`; none if none came.
  std::vector<Message> take(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, end, [&] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  bool closed_ = false;
};

}  // namespace dure
