// A stack of free pages, and a bit per page that turns a double release into a stop instead of two
// sequences writing over each other.
#include "schedule/page_manager.h"

#include "base/error.h"

namespace dure {

PageManager::PageManager(int32_t pages) {
  DURE_CHECK(pages >= 0);
  held_.resize(static_cast<size_t>(pages), false);
  free_.reserve(held_.size());
  for (int32_t page = pages - 1; page >= 0; --page) free_.push_back(page);
}

std::vector<int32_t> PageManager::allocate(int32_t count) {
  DURE_CHECK(count >= 0 && count <= available());
  std::vector<int32_t> pages(free_.rbegin(), free_.rbegin() + count);
  free_.resize(free_.size() - static_cast<size_t>(count));
  for (const int32_t page : pages) held_[static_cast<size_t>(page)] = true;
  return pages;
}

void PageManager::release(std::span<const int32_t> pages) {
  for (const int32_t page : pages) {
    DURE_CHECK(page >= 0 && page < total() && held_[static_cast<size_t>(page)]);
    held_[static_cast<size_t>(page)] = false;
    free_.push_back(page);
  }
}

}  // namespace dure
