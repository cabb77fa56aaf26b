// The index of sparse attention of the reference backend: one (row, key) at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/latent_page.h"
#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/cpu/select_keys.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

float index_score(const float* q, const float* weights, int64_t heads, const LatentPage& keys,
                  int64_t page, int64_t token) {
  float score = 0.0f;
  for (int64_t head = 0; head < heads; ++head, q += keys.width()) {
    float sums[sum_lanes] = {};
    for (int64_t d = 0; d < keys.width(); ++d) {
      float& sum = sums[d % sum_lanes];
      sum = std::fma(q[d], keys.load(page, token, d), sum);
    }
    const float dot = add_lanes(sums);
    score = std::fma(weights[head], dot < 0.0f ? 0.0f : dot, score);  // NaN stays
  }
  return score;
}

}  // namespace

void ReferenceBackend::index_scores(const float* q, int64_t q_stride, const float* weights,
                                    int64_t heads, std::span<const AttentionSlice> slices,
                                    const LatentLayer& keys, float* scores, int64_t stride) {
  const LatentPage layout(keys);
  for (const AttentionSlice& slice : slices) {
    for (int64_t i = 0; i < slice.tokens; ++i) {
      const int64_t row = slice.row + i;
      for (int64_t t = 0; t <= slice.start + i; ++t)
        scores[row * stride + t] =
            index_score(q + row * q_stride, weights + row * heads, heads, layout,
                        slice.page_of(t / keys.page_tokens), t % keys.page_tokens);
    }
  }
}

void ReferenceBackend::select_keys(const float* scores, int64_t stride,
                                   std::span<const AttentionSlice> slices, int64_t top_k,
                                   uint64_t* selected, int64_t words) {
  std::vector<uint32_t> order;
  for (const AttentionSlice& slice : slices) {
    for (int64_t i = 0; i < slice.tokens; ++i) {
      const int64_t row = slice.row + i;
      const int64_t count = slice.start + i + 1;
      order.resize(static_cast<size_t>(count));
      select_highest(scores + row * stride, count, top_k, order,
                     {selected + row * words, static_cast<size_t>(words)});
    }
  }
}

}  // namespace dure
