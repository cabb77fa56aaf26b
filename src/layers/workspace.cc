// See workspace.h.
#include "layers/workspace.h"

#include "base/error.h"

namespace dure {

Workspace::Workspace(const std::vector<StepBufferSize>& sizes) {
  DURE_CHECK(sizes.size() == buffers_.size());
  for (const StepBufferSize& size : sizes) {
    buffers_[static_cast<size_t>(size.buffer)] = AlignedBuffer(size.bytes);
    (size.communication ? communication_bytes_ : activation_bytes_) += size.bytes;
  }
}

float* Workspace::floats(StepBuffer buffer) const {
  return reinterpret_cast<float*>(buffers_[static_cast<size_t>(buffer)].data());
}

int32_t* Workspace::ints(StepBuffer buffer) const {
  return reinterpret_cast<int32_t*>(buffers_[static_cast<size_t>(buffer)].data());
}

}  // namespace dure
