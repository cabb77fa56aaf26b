// Which slots are taken: of the recurrent states and samplers that a dp group's ranks keep for each
// running sequence. What is in them is the ranks' business.
#pragma once

#include <cstdint>
#include <vector>

namespace dure {

class SlotPool {
 public:
  explicit SlotPool(int32_t slots);

  int32_t available() const { return static_cast<int32_t>(free_.size()); }
  // Asking for one where none is available is a bug, and so is giving back what is not taken.
  int32_t take();
  void give_back(int32_t slot);

 private:
  std::vector<int32_t> free_;  // a stack: what was used last is still warm
  std::vector<bool> taken_;    // [slot]
};

}  // namespace dure
