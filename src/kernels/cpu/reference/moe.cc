// Router and combination of expert outputs of the reference backend.
#include <cmath>
#include <limits>

#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/cpu/top_k.h"
#include "kernels/sum_order.h"

namespace dure {

void ReferenceBackend::top_k_softmax(const float* logits, int64_t rows, int64_t experts,
                                     int64_t top_k, bool normalize, int32_t* ids, float* weights) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = logits + row * experts;
    int32_t* row_ids = ids + row * top_k;
    float* row_weights = weights + row * top_k;
    select_top_k(in, experts, top_k, row_ids);
    const float largest = in[row_ids[0]];
    float lanes[sum_lanes] = {};
    for (int64_t e = 0; e < experts; ++e) lanes[e % sum_lanes] += std::exp(in[e] - largest);
    const float sum = add_lanes(lanes);
    for (int64_t s = 0; s < top_k; ++s) row_weights[s] = std::exp(in[row_ids[s]] - largest) / sum;
    if (normalize) normalize_weights(row_weights, top_k);
  }
}

void ReferenceBackend::combine_experts(const float* partial, const int32_t* where,
                                       const float* weights, int64_t rows, int64_t top_k,
                                       int64_t parts, int64_t width, float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) {
      float sum = 0.0f;
      for (int64_t s = 0; s < top_k; ++s) {
        const int64_t slot = row * top_k + s;
        BinaryTree tree;
        for (int64_t p = 0; p < parts; ++p) tree.push(partial[where[slot * parts + p] * width + i]);
        sum = std::fma(weights[slot], tree.sum(), sum);
      }
      out[row * width + i] = sum;
    }
  }
}

}  // namespace dure
