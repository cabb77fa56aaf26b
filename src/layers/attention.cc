// See attention.h.
#include "layers/attention.h"

#include <algorithm>

namespace dure {

Attention::Attention(const Runtime& runtime, const GqaSpec& spec, const AttentionWeights& weights)
    : spec_(spec), weights_(weights) {
  const int tp = runtime.share.place.tp;
  heads_ = heads_of(spec, runtime.layout.tp, tp);
  kv_owned_ = heads_.kv;
  for (int before = 0; before < tp; ++before) {
    const HeadShare other = heads_of(spec, runtime.layout.tp, before);
    kv_owned_.begin = std::max(kv_owned_.begin, other.kv.end);
  }
  kv_owned_.begin = std::min(kv_owned_.begin, kv_owned_.end);
  const int64_t group = spec.heads / spec.kv_heads;
  for (int64_t head = heads_.q.begin; head < heads_.q.end; ++head) {
    kv_of_head_.push_back(static_cast<int32_t>(head / group - heads_.kv.begin));
  }
}

// RMS norm over the whole q and the whole k projection, which lie spread over the tp ranks: every
// rank contributes its heads' sums of squares to a vector of all heads (adding zeros is exact), and
// adds them in head order, so the bits do not depend on the split.
void Attention::normalise_whole(const Runtime& runtime, int64_t rows, float* qkv) const {
  const int64_t d = spec_.head_dim;
  const int64_t stride = (heads_.q.size() + 2 * heads_.kv.size()) * d;
  const int64_t all = spec_.heads + spec_.kv_heads;
  float* sums = runtime.workspace.floats(StepBuffer::norm_sums);  // [rows, all], then totals [rows]
  float* totals = sums + rows * all;
  std::fill(sums, sums + rows * all, 0.0f);

  float* q = qkv;
  float* k = qkv + heads_.q.size() * d;
  std::vector<float> own(static_cast<size_t>(rows * std::max(heads_.q.size(), kv_owned_.size())));
  const auto contribute = [&](const float* x, int64_t heads, int64_t at) {
    if (heads == 0) return;
    runtime.backend.sum_squares(x, rows, heads, d, stride, own.data());
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(own.data() + row * heads, heads, sums + row * all + at);
    }
  };
  contribute(q, heads_.q.size(), heads_.q.begin);
  contribute(k + (kv_owned_.begin - heads_.kv.begin) * d, kv_owned_.size(),
             spec_.heads + kv_owned_.begin);
  runtime.reduce_partial(sums, rows * all, "sums of q and k norms");

  const auto apply = [&](float* x, int64_t held, int64_t heads, int64_t at, const Vector& weight) {
    if (held == 0) return;
    for (int64_t row = 0; row < rows; ++row) {
      float total = 0.0f;
      for (int64_t head = 0; head < heads; ++head) total += sums[row * all + at + head];
      totals[row] = total;
    }
    runtime.backend.scale_by_norm(x, rows, held * d, stride, totals, static_cast<float>(heads * d),
                                  weight.data(), static_cast<float>(runtime.spec.norm_eps));
  };
  apply(q, heads_.q.size(), spec_.heads, 0, weights_.q_norm);
  apply(k, heads_.kv.size(), spec_.kv_heads, spec_.heads, weights_.k_norm);
}

void Attention::forward(const Runtime& runtime, const Batch& batch, const RopeTable& rope,
                        const KvLayer& cache, const float* x, float* out) const {
  Backend& backend = runtime.backend;
  const int64_t rows = batch.rows();
  const int64_t d = spec_.head_dim;
  const int64_t q_heads = heads_.q.size();
  const int64_t kv_heads = heads_.kv.size();
  const int64_t stride = (q_heads + 2 * kv_heads) * d;
  float* q = runtime.workspace.floats(StepBuffer::qkv);
  float* k = q + q_heads * d;
  float* v = k + kv_heads * d;

  backend.matmul(x, rows, weights_.qkv,
                 weights_.qkv_bias.empty() ? nullptr : weights_.qkv_bias.data(), runtime.compute,
                 q);
  if (spec_.qk_norm == QkNorm::per_head) {
    const auto eps = static_cast<float>(runtime.spec.norm_eps);
    for (int64_t head = 0; head < q_heads; ++head) {
      float* at = q + head * d;
      backend.rms_norm(at, rows, d, stride, weights_.q_norm.data(), eps, at);
    }
    for (int64_t head = 0; head < kv_heads; ++head) {
      float* at = k + head * d;
      backend.rms_norm(at, rows, d, stride, weights_.k_norm.data(), eps, at);
    }
  } else if (spec_.qk_norm == QkNorm::whole) {
    normalise_whole(runtime, rows, q);
  }
  backend.rope(q, rows, q_heads, d, stride, batch.row_index.data(), rope);
  backend.rope(k, rows, kv_heads, d, stride, batch.row_index.data(), rope);
  backend.kv_write(k, v, stride, batch.slices, cache);

  AttentionShape shape;
  shape.heads = q_heads;
  shape.head_dim = d;
  shape.v_head_dim = d;
  shape.kv_of_head = kv_of_head_;
  shape.scale = static_cast<float>(spec_.scale);
  shape.window = spec_.window.value_or(0);
  float* attended = runtime.workspace.floats(StepBuffer::attended);
  backend.attention(q, stride, batch.slices, shape, cache, attended);

  runtime.partial_product(attended, rows, weights_.o, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, "attention output");
  add_bias(runtime, out, rows, weights_.o_bias);
}

}  // namespace dure
