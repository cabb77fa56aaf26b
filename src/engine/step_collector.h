// Rank 0 puts the answers of a step together: each dp group's last stage sends its tokens, and in a
// traced step every stage sends the routes of its layers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cluster/layout.h"
#include "protocol/messages.h"

namespace dure {

class StepCollector {
 public:
  explicit StepCollector(const Layout& layout) : layout_(layout) {}

  void expect(const Step& step);
  bool pending() const { return !open_.empty(); }

  // A part holds the results of one dp group's slices, in the step's order. Returns the whole
  // answer when this was the last part. Throws `failed` for a part of no open step.
  std::optional<StepDone> add(int from_rank, StepDone part);

 private:
  struct Open {
    uint64_t id = 0;
    std::vector<int32_t> dp_of_slice;
    std::vector<std::optional<StepDone>> parts;  // [stage * dp], stages that send none stay empty
    int missing = 0;
    std::chrono::steady_clock::time_point arrived;
  };

  size_t part_index(int stage, int dp) const {
    return static_cast<size_t>(stage) * static_cast<size_t>(layout_.dp) + static_cast<size_t>(dp);
  }
  StepDone merge(Open& open) const;

  Layout layout_;
  std::deque<Open> open_;
};

}  // namespace dure
