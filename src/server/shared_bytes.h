// Bytes that a server holds for all its clients together, with a bound. Whoever has more than an
// equal part when the bound is passed has to give way; the others do not notice.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

namespace dure {

class SharedBytes {
 public:
  explicit SharedBytes(size_t most) : most_(most) {}

  size_t held() const { return held_; }

  // One client's part; given back when it goes.
  class Part {
   public:
    explicit Part(std::shared_ptr<SharedBytes> all) : all_(std::move(all)) {}
    ~Part() { set(0); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // False if this part has to give way. Not for several threads at once.
    bool set(size_t bytes) {
      const size_t total = all_->held_ += bytes - bytes_;
      const int change = static_cast<int>(bytes > 0) - static_cast<int>(bytes_ > 0);
      const int holders = all_->holders_ += change;
      bytes_ = bytes;
      return total <= all_->most_ ||
             bytes <= all_->most_ / static_cast<size_t>(std::max(1, holders));
    }

   private:
    std::shared_ptr<SharedBytes> all_;
    size_t bytes_ = 0;
  };

 private:
  const size_t most_;
  std::atomic<size_t> held_{0};
  std::atomic<int> holders_{0};
};

}  // namespace dure
