// Paged attention of the reference backend, one (row, head) at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/first_key.h"
#include "kernels/cpu/kv_page.h"
#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

// The running softmax of one query: 16 running sums of weights, and the weighted sum of values.
struct Running {
  float largest = -std::numeric_limits<float>::infinity();
  float sums[sum_lanes] = {};
  std::vector<float> value;
};

// Adds keys [begin, end) of one block. begin < end.
void attend_block(const float* q, const AttentionShape& shape, const KvLayer& cache, int64_t page,
                  int64_t kv_head, int64_t begin, int64_t end, Running& running) {
  const KvPage layout(cache);
  std::vector<float> score(static_cast<size_t>(cache.page_tokens));
  float largest = running.largest;
  for (int64_t t = begin; t < end; ++t) {
    float dot = 0.0f;
    for (int64_t d = 0; d < shape.head_dim; ++d)
      dot = std::fma(q[d], layout.load_k(page, layout.k_index(kv_head, t, d)), dot);
    float& scaled = score[static_cast<size_t>(t)];
    scaled = dot * shape.scale;
    if (shape.softcap > 0.0f) scaled = std::tanh(scaled / shape.softcap) * shape.softcap;
    largest = std::max(largest, scaled);
  }
  const float rescale = std::exp(running.largest - largest);
  running.largest = largest;
  for (float& sum : running.sums) sum *= rescale;
  for (float& value : running.value) value *= rescale;
  for (int64_t t = begin; t < end; ++t) {
    const float weight = std::exp(score[static_cast<size_t>(t)] - largest);
    running.sums[t % sum_lanes] += weight;
    for (int64_t d = 0; d < shape.v_head_dim; ++d) {
      float& value = running.value[static_cast<size_t>(d)];
      value = std::fma(weight, layout.load_v(page, layout.v_index(kv_head, t, d)), value);
    }
  }
}

}  // namespace

void ReferenceBackend::kv_write(const float* k, int64_t k_stride, const float* v, int64_t v_stride,
                                std::span<const AttentionSlice> slices, const KvLayer& cache) {
  const KvPage layout(cache);
  for (const AttentionSlice& slice : slices) {
    for (int64_t i = 0; i < slice.tokens; ++i) {
      const int64_t row = slice.row + i;
      layout.write_token(slice, slice.start + i, k + row * k_stride, v + row * v_stride);
    }
  }
}

void ReferenceBackend::attention(const float* q, int64_t q_stride,
                                 std::span<const AttentionSlice> slices,
                                 const AttentionShape& shape, const KvLayer& cache, float* out) {
  for (const AttentionSlice& slice : slices) {
    for (int64_t i = 0; i < slice.tokens; ++i) {
      const int64_t end = slice.start + i + 1;
      const int64_t begin = first_key(shape, slice.start + i);
      for (int64_t head = 0; head < shape.heads; ++head) {
        const float* query = q + (slice.row + i) * q_stride + head * shape.head_dim;
        Running running;
        running.value.resize(static_cast<size_t>(shape.v_head_dim));
        if (shape.sinks != nullptr) {
          running.largest = shape.sinks[head];
          running.sums[0] = 1.0f;
        }
        for (int64_t block = begin / cache.page_tokens; block * cache.page_tokens < end; ++block) {
          const int64_t first = block * cache.page_tokens;
          attend_block(query, shape, cache, slice.page_of(block),
                       shape.kv_of_head[static_cast<size_t>(head)],
                       std::max(begin - first, int64_t{0}),
                       std::min(end - first, cache.page_tokens), running);
        }
        const float sum = add_lanes(running.sums);
        float* result = out + ((slice.row + i) * shape.heads + head) * shape.v_head_dim;
        for (int64_t d = 0; d < shape.v_head_dim; ++d)
          result[d] = running.value[static_cast<size_t>(d)] / sum;
      }
    }
  }
}

}  // namespace dure
