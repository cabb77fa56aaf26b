// See state_convolution.h.
#include "layers/state_convolution.h"

namespace dure {

const float* convolve(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                      const StateWeights& weights, const StateRow& row, int64_t taps,
                      const float* fused) {
  CausalConv conv;
  conv.channels = row.convolved();
  conv.taps = taps;
  conv.w = weights.conv.data();
  conv.bias = data_or_null(weights.conv_bias);
  float* convolved = runtime.workspace.floats(StepBuffer::convolved);
  runtime.backend.causal_conv(fused, row.total(), batch.states, conv, cache.convolution, convolved);
  return convolved;
}

}  // namespace dure
