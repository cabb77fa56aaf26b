// Who holds which page of one dp group's KV cache, or which slot of its recurrent states. Pages are
// numbered 0 .. total-1 and are all the same size; what is in them is the ranks' business.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dure {

class PageManager {
 public:
  explicit PageManager(int32_t pages);

  int32_t total() const { return static_cast<int32_t>(held_.size()); }
  int32_t available() const { return static_cast<int32_t>(free_.size()); }
  int32_t held() const { return total() - available(); }

  // `count` pages that nobody holds. Asking for more than available() is a bug.
  std::vector<int32_t> allocate(int32_t count);
  // Gives pages back. Giving back what is not held is a bug.
  void release(std::span<const int32_t> pages);

 private:
  std::vector<int32_t> free_;  // a stack: what was used last is still warm
  std::vector<bool> held_;     // [page]
};

}  // namespace dure
