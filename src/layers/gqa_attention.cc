// See gqa_attention.h.
#include "layers/gqa_attention.h"

#include <algorithm>
#include <cmath>

#include "layers/head_sums.h"

namespace dure {

GqaAttention::GqaAttention(const Runtime& runtime, const GqaSpec& spec,
                           const AttentionWeights& weights)
    : spec_(spec), weights_(weights) {
  const int tp = runtime.share.place.tp;
  heads_ = heads_of(spec, runtime.layout.tp, tp);
  kv_owned_ = heads_.kv;
  for (int before = 0; before < tp; ++before) {
    const HeadShare other = heads_of(spec, runtime.layout.tp, before);
    kv_owned_.begin = std::max(kv_owned_.begin, other.kv.end);
  }
  kv_owned_.begin = std::min(kv_owned_.begin, kv_owned_.end);
  kv_of_head_ = kv_of_heads(heads_, spec.heads / spec.kv_heads);
}

// Over the whole q and the whole k projection.
void GqaAttention::normalise_whole(const Runtime& runtime, int64_t rows, const Row& row) const {
  const int64_t d = spec_.head_dim;
  const int64_t q = heads_.q.size();
  const HeadSums sums(runtime, rows, spec_.heads + spec_.kv_heads, d);
  sums.contribute(row.q, q, row.stride, heads_.q.begin);
  sums.contribute(row.k + (kv_owned_.begin - heads_.kv.begin) * d, kv_owned_.size(), row.stride,
                  spec_.heads + kv_owned_.begin);
  sums.exchange("sums of q and k norms");
  sums.normalise(row.q, q, row.stride, 0, spec_.heads, weights_.q_norm.data());
  sums.normalise(row.k, heads_.kv.size(), row.stride, spec_.heads, spec_.kv_heads,
                 weights_.k_norm.data());
}

void GqaAttention::normalise_heads(const Runtime& runtime, int64_t rows, const Row& row) const {
  const int64_t d = spec_.head_dim;
  const auto eps = static_cast<float>(runtime.spec.norm_eps);
  const auto each = [&](float* x, int64_t heads, const Vector& weight) {
    for (int64_t head = 0; head < heads; ++head) {
      float* at = x + head * d;
      runtime.backend.rms_norm(at, rows, d, row.stride, data_or_null(weight), eps, at);
    }
  };
  each(row.q, heads_.q.size(), weights_.q_norm);
  each(row.k, heads_.kv.size(), weights_.k_norm);
}

void GqaAttention::normalise(const Runtime& runtime, int64_t rows, const Row& row) const {
  switch (spec_.qk_norm) {
    case QkNorm::none:
      return;
    case QkNorm::whole:
      return normalise_whole(runtime, rows, row);
    case QkNorm::per_head:
    case QkNorm::weightless:
      return normalise_heads(runtime, rows, row);
  }
}

void GqaAttention::sharpen(const Runtime& runtime, const Batch& batch, const Row& row) const {
  const int64_t width = heads_.q.size() * spec_.head_dim;
  for (int64_t i = 0; i < batch.rows(); ++i) {
    const auto position = static_cast<float>(batch.positions[static_cast<size_t>(i)]);
    const float steps =
        std::floor((position + 1.0f) / static_cast<float>(spec_.temperature->floor_scale));
    const float factor = std::log1p(steps) * static_cast<float>(spec_.temperature->scale) + 1.0f;
    runtime.backend.scale(row.q + i * row.stride, width, factor);
  }
}

GqaAttention::Row GqaAttention::project(const Runtime& runtime, int64_t rows,
                                        const float* x) const {
  const int64_t q = heads_.q.size() * spec_.head_dim;
  const int64_t k = heads_.kv.size() * spec_.head_dim;
  const int64_t v = heads_.kv.size() * spec_.v_head_dim;
  const int64_t stride = weights_.qkv.shape().n;
  float* at = runtime.workspace.floats(StepBuffer::qkv);
  runtime.backend.matmul(x, rows, weights_.qkv, data_or_null(weights_.qkv_bias), runtime.compute,
                         at);
  if (spec_.values_are_keys) return {at, at + q, at + rows * stride, at + q + k, stride, v};
  return {at, at + q, at + q + k, at + q + k + v, stride, stride};
}

// Before k is normalised and rotated: values are what its projection alone made.
void GqaAttention::make_values(const Runtime& runtime, int64_t rows, const Row& row) const {
  const int64_t d = spec_.v_head_dim;
  if (spec_.values_are_keys) {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(row.k + i * row.stride, heads_.kv.size() * d, row.v + i * row.v_stride);
    }
  }
  if (!spec_.v_norm) return;
  for (int64_t head = 0; head < heads_.kv.size(); ++head) {
    float* at = row.v + head * d;
    runtime.backend.rms_norm(at, rows, d, row.v_stride, nullptr,
                             static_cast<float>(runtime.spec.norm_eps), at);
  }
}

AttentionShape GqaAttention::shape() const {
  AttentionShape shape;
  shape.heads = heads_.q.size();
  shape.head_dim = spec_.head_dim;
  shape.v_head_dim = spec_.v_head_dim;
  shape.kv_of_head = kv_of_head_;
  shape.scale = static_cast<float>(spec_.scale);
  shape.window = spec_.window.value_or(0);
  shape.chunk = spec_.chunk.value_or(0);
  shape.softcap = static_cast<float>(spec_.softcap);
  shape.sinks = data_or_null(weights_.sinks);
  return shape;
}

void GqaAttention::forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                           const LayerCache& cache, const float* x, float* out) const {
  Backend& backend = runtime.backend;
  const int64_t rows = batch.rows();
  const int64_t d = spec_.head_dim;
  const Row row = project(runtime, rows, x);
  make_values(runtime, rows, row);
  if (!spec_.norm_after_rope) normalise(runtime, rows, row);
  const int32_t* index = batch.row_index.data();
  ropes.rotate(backend, spec_.rope, row.q, rows, heads_.q.size(), d, row.stride, index);
  ropes.rotate(backend, spec_.rope, row.k, rows, heads_.kv.size(), d, row.stride, index);
  if (spec_.norm_after_rope) normalise(runtime, rows, row);
  if (spec_.temperature) sharpen(runtime, batch, row);
  backend.kv_write(row.k, row.stride, row.v, row.v_stride, batch.slices[cache.table], cache.kv);

  const int64_t width = heads_.q.size() * spec_.v_head_dim;
  float* attended = runtime.workspace.floats(StepBuffer::attended);
  backend.attention(row.q, row.stride, batch.slices[cache.table], shape(), cache.kv, attended);
  if (spec_.value_scale != 1.0) {
    backend.scale(attended, rows * width, static_cast<float>(spec_.value_scale));
  }
  if (spec_.output_gate) {
    backend.multiply_by_sigmoid(attended, row.gate, rows, width, width, row.stride);
  }
  runtime.partial_product(attended, rows, weights_.o, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, "attention output");
  add_bias(runtime, out, rows, weights_.o_bias);
}

}  // namespace dure
