// Fills the memory of a rank's weights from the checkpoint, reading only the byte ranges of its
// slices through small staging buffers, so that the peak stays near the final size.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cost/resident.h"
#include "engine/weight_plan.h"
#include "keeper/segment.h"
#include "layers/weights.h"
#include "model/checkpoint.h"

namespace dure {

// Bytes that load_weights will read.
int64_t bytes_to_read(const std::vector<Resident>& residents);

// Weights whose bytes lie, or will lie, at the plan's places in `memory`, which outlives them.
RankWeights weights_in(std::byte* memory, const WeightPlan& plan,
                       const std::vector<Resident>& residents, const ModelSpec& spec,
                       const Layout& layout, const RankShare& share);

// Fills the segment, which holds zeros, with `threads` threads. Adds to *bytes_read as it goes.
// Throws what the checkpoint throws, and failed where memory ends.
void load_weights(const CheckpointReader& checkpoint, const std::vector<Resident>& residents,
                  const WeightPlan& plan, int threads, Segment& segment,
                  std::atomic<int64_t>* bytes_read);

}  // namespace dure
