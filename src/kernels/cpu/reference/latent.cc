// Latent attention of the reference backend, one (row, head) at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/latent_page.h"
#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

struct CachedRow {
  int64_t page = 0;
  int64_t token = 0;  // within the page
};

// The running softmax of one query.
class LatentQuery {
 public:
  LatentQuery(const float* q, float scale, const LatentLayer& cache)
      : q_(q),
        scale_(scale),
        latent_(cache.latent),
        layout_(cache),
        value_(static_cast<size_t>(cache.latent)) {}

  // Adds one block of keys, at least one.
  void attend(std::span<const CachedRow> keys) {
    std::vector<float> score;
    float largest = largest_;
    for (const CachedRow& key : keys) {
      score.push_back(dot(key) * scale_);
      largest = std::max(largest, score.back());
    }
    const float rescale = std::exp(largest_ - largest);
    largest_ = largest;
    for (float& sum : sums_) sum *= rescale;
    for (float& value : value_) value *= rescale;
    for (size_t t = 0; t < keys.size(); ++t) {
      const float weight = std::exp(score[t] - largest);
      sums_[t % sum_lanes] += weight;
      for (int64_t d = 0; d < latent_; ++d) {
        float& value = value_[static_cast<size_t>(d)];
        value = std::fma(weight, layout_.load(keys[t].page, keys[t].token, d), value);
      }
    }
  }

  void finish(float* out) {
    const float sum = add_lanes(sums_);
    for (const float value : value_) *out++ = value / sum;
  }

 private:
  float dot(const CachedRow& key) const {
    float sums[sum_lanes] = {};
    for (int64_t d = 0; d < layout_.width(); ++d) {
      float& sum = sums[d % sum_lanes];
      sum = std::fma(q_[d], layout_.load(key.page, key.token, d), sum);
    }
    return add_lanes(sums);
  }

  const float* q_;
  float scale_;
  int64_t latent_;
  LatentPage layout_;
  float largest_ = -std::numeric_limits<float>::infinity();
  float sums_[sum_lanes] = {};
  std::vector<float> value_;
};

}  // namespace

void ReferenceBackend::latent_write(const float* rows, int64_t stride,
                                    std::span<const AttentionSlice> slices,
                                    const LatentLayer& cache) {
  const LatentPage layout(cache);
  for (const AttentionSlice& slice : slices)
    for (int64_t i = 0; i < slice.tokens; ++i)
      layout.write_token(slice, slice.start + i, rows + (slice.row + i) * stride);
}

void ReferenceBackend::latent_attention(const float* q, int64_t q_stride,
                                        std::span<const AttentionSlice> slices,
                                        const LatentShape& shape, const LatentLayer& cache,
                                        float* out) {
  const auto block = static_cast<size_t>(cache.page_tokens);
  for (const AttentionSlice& slice : slices) {
    for (int64_t row = slice.row; row < slice.row + slice.tokens; ++row) {
      const uint64_t* selected =
          shape.selected != nullptr ? shape.selected + row * shape.selected_words : nullptr;
      std::vector<CachedRow> seen;
      for (int64_t t = 0; t <= slice.start + row - slice.row; ++t)
        if (selected == nullptr || (selected[t / 64] >> (t % 64) & 1) != 0)
          seen.push_back({slice.page_of(t / cache.page_tokens), t % cache.page_tokens});
      for (int64_t head = 0; head < shape.heads; ++head) {
        LatentQuery query(q + row * q_stride + head * (cache.latent + cache.rope), shape.scale,
                          cache);
        for (size_t from = 0; from < seen.size(); from += block)
          query.attend(std::span(seen).subspan(from, std::min(block, seen.size() - from)));
        query.finish(out + (row * shape.heads + head) * cache.latent);
      }
    }
  }
}

}  // namespace dure
