// Router and combination of expert outputs of the reference backend.
#include <cmath>

#include "kernels/cpu/choose_experts.h"
#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/cpu/top_k.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

void softmax(const float* x, int64_t count, float* out) {
  int32_t best;
  select_top_k(x, count, 1, &best);
  const float largest = x[best];
  float lanes[sum_lanes] = {};
  for (int64_t i = 0; i < count; ++i) {
    out[i] = std::exp(x[i] - largest);
    lanes[i % sum_lanes] += out[i];
  }
  const float sum = add_lanes(lanes);
  for (int64_t i = 0; i < count; ++i) out[i] /= sum;
}

float score(RouteShape::Score kind, float x) {
  if (kind == RouteShape::Score::sigmoid) return 1.0f / (1.0f + std::exp(-x));
  const float positive = x < 0.0f ? 0.0f : x;
  return std::sqrt(positive + std::log1p(std::exp(-std::abs(x))));
}

}  // namespace

void ReferenceBackend::route(const float* logits, const float* correction, int64_t rows,
                             const RouteShape& shape, int32_t* ids, float* weights) {
  RouteScratch scratch;
  scratch.fit(shape);
  for (int64_t row = 0; row < rows; ++row) {
    const float* const in = logits + row * shape.experts;
    float* const scores = scratch.scores.data();
    if (shape.score == RouteShape::Score::softmax) {
      softmax(in, shape.experts, scores);
    } else {
      for (int64_t e = 0; e < shape.experts; ++e) scores[e] = score(shape.score, in[e]);
    }
    choose_experts(in, correction, shape, scratch, ids + row * shape.top_k,
                   weights + row * shape.top_k);
  }
}

void ReferenceBackend::combine_experts(const float* partial, const int32_t* where,
                                       const float* weights, const float* bias, const int32_t* ids,
                                       int64_t rows, int64_t top_k, int64_t parts, int64_t width,
                                       float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) {
      float sum = 0.0f;
      for (int64_t s = 0; s < top_k; ++s) {
        const int64_t slot = row * top_k + s;
        if (where[slot * parts] < 0) continue;
        BinaryTree tree;
        for (int64_t p = 0; p < parts; ++p) tree.push(partial[where[slot * parts + p] * width + i]);
        float output = tree.sum();
        if (bias != nullptr) output += bias[ids[slot] * width + i];
        sum = std::fma(weights[slot], output, sum);
      }
      out[row * width + i] = sum;
    }
  }
}

}  // namespace dure
