// The short causal convolution of each channel that comes before a recurrence.
#pragma once

#include "cost/state_shape.h"
#include "layers/attention.h"

namespace dure {

// fused: [rows, row.total()]. Returns the convolved q, k and v, [rows, row.convolved()], in
// StepBuffer::convolved.
const float* convolve(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                      const StateWeights& weights, const StateRow& row, int64_t taps,
                      const float* fused);

}  // namespace dure
