// A stack of free slots, and a bit per slot that turns a double return into a stop instead of two
// sequences writing over each other.
#include "schedule/slot_pool.h"

#include "base/error.h"

namespace dure {

SlotPool::SlotPool(int32_t slots) : taken_(static_cast<size_t>(slots), false) {
  free_.reserve(taken_.size());
  for (int32_t slot = slots - 1; slot >= 0; --slot) free_.push_back(slot);
}

int32_t SlotPool::take() {
  DURE_CHECK(!free_.empty());
  const int32_t slot = free_.back();
  free_.pop_back();
  taken_[static_cast<size_t>(slot)] = true;
  return slot;
}

void SlotPool::give_back(int32_t slot) {
  DURE_CHECK(slot >= 0 && slot < static_cast<int32_t>(taken_.size()) &&
             taken_[static_cast<size_t>(slot)]);
  taken_[static_cast<size_t>(slot)] = false;
  free_.push_back(slot);
}

}  // namespace dure
