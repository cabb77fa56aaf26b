// The step buffers of a rank: allocated once, sized by the planner's own list
// (cost/step_buffers.h), so that a step allocates nothing that grows with the
// model, and the planned bytes are the used ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost/step_buffers.h"
#include "kernels/packed_matrix.h"

namespace dure {

class Workspace {
 public:
  explicit Workspace(const std::vector<StepBufferSize>& sizes);

  float* floats(StepBuffer buffer) const;
  int32_t* ints(StepBuffer buffer) const;
  int64_t activation_bytes() const { return activation_bytes_; }
  int64_t communication_bytes() const { return communication_bytes_; }

 private:
  std::array<AlignedBuffer, step_buffer_count> buffers_;
  int64_t activation_bytes_ = 0;
  int64_t communication_bytes_ = 0;
};

}  // namespace dure
