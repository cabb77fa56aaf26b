// See latent_attention.h.
#include "layers/latent_attention.h"

#include <algorithm>

namespace dure {
namespace {

// The parts of the slices that are rows [first, first + rows) of the batch, rows counted from
// `first`.
std::vector<AttentionSlice> slices_within(const std::vector<AttentionSlice>& slices, int64_t first,
                                          int64_t rows) {
  std::vector<AttentionSlice> within;
  for (const AttentionSlice& slice : slices) {
    const int64_t begin = std::max(slice.row, first);
    const int64_t end = std::min(slice.row + slice.tokens, first + rows);
    if (begin >= end) continue;
    within.push_back({begin - first, end - begin, slice.start + (begin - slice.row), slice.pages,
                      slice.first_page});
  }
  return within;
}

// Every (row, head) as work of the head's own matrix, head after head.
struct ByHead {
  std::vector<int32_t> source;
  std::vector<int32_t> begin;

  ByHead(int64_t rows, int64_t heads) {
    for (int64_t head = 0; head < heads; ++head) {
      begin.push_back(static_cast<int32_t>(source.size()));
      for (int64_t row = 0; row < rows; ++row) {
        source.push_back(static_cast<int32_t>(row * heads + head));
      }
    }
    begin.push_back(static_cast<int32_t>(source.size()));
  }
};

// [rows of the batch, selected_words]
uint64_t* selected_keys(const Runtime& runtime) {
  return reinterpret_cast<uint64_t*>(runtime.workspace.floats(StepBuffer::selected));
}

}  // namespace

LatentAttention::LatentAttention(const Runtime& runtime, const MlaSpec& spec,
                                 const LatentWeights& weights)
    : spec_(spec),
      weights_(weights),
      heads_(heads_of(spec, runtime.layout.tp, runtime.share.place.tp).q.size()) {}

void LatentAttention::write_cache(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                                  const LayerCache& cache, const float* x) const {
  Backend& backend = runtime.backend;
  const int64_t rows = batch.rows();
  const int64_t width = spec_.kv_rank + spec_.rope_dim;
  float* latent = runtime.workspace.floats(StepBuffer::qkv);
  backend.matmul(x, rows, weights_.kv_a, data_or_null(weights_.kv_a_bias), runtime.compute, latent);
  backend.rms_norm(latent, rows, spec_.kv_rank, width, weights_.kv_a_norm.data(),
                   static_cast<float>(spec_.norm_eps), latent);
  ropes.rotate(backend, spec_.rope, latent + spec_.kv_rank, rows, 1, spec_.rope_dim, width,
               batch.row_index.data());
  backend.latent_write(latent, width, batch.slices[cache.table], cache.latent);
}

void LatentAttention::write_index(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                                  const LayerCache& cache, const float* x) const {
  constexpr float layer_norm_eps = 1e-6f;
  Backend& backend = runtime.backend;
  const IndexerSpec& indexer = *spec_.indexer;
  const int64_t rows = batch.rows();
  const int64_t width = indexer.head_dim;
  float* key = runtime.workspace.floats(StepBuffer::qkv) + rows * (spec_.kv_rank + spec_.rope_dim);
  backend.matmul(x, rows, weights_.index_k, nullptr, Compute::fp32, key);
  backend.layer_norm(key, rows, width, width, weights_.index_k_norm.data(),
                     weights_.index_k_norm_bias.data(), layer_norm_eps, key);
  ropes.rotate(backend, indexer.rope, key, rows, 1, width, width, batch.row_index.data());
  backend.latent_write(key, width, batch.slices[cache.table], cache.index);
}

void LatentAttention::choose_keys(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                                  const LayerCache& cache, int64_t first, int64_t rows,
                                  const float* x, const float* q_a, float* index_q) const {
  Backend& backend = runtime.backend;
  const IndexerSpec& indexer = *spec_.indexer;
  const int64_t width = indexer.heads * indexer.head_dim;
  const int64_t words = selected_words(batch.context);
  float* weights = index_q + rows * width;
  backend.matmul(q_a, rows, weights_.index_q, nullptr, Compute::fp32, index_q);
  backend.matmul(x, rows, weights_.index_weights, nullptr, Compute::fp32, weights);
  ropes.rotate(backend, indexer.rope, index_q, rows, indexer.heads, indexer.head_dim, width,
               batch.row_index.data() + first);
  float* scores = runtime.workspace.floats(StepBuffer::index_scores);
  for (int64_t row = 0; row < rows; row += index_rows) {
    const int64_t count = std::min(index_rows, rows - row);
    const auto slices = slices_within(batch.slices[cache.table], first + row, count);
    backend.index_scores(index_q + row * width, width, weights + row * indexer.heads, indexer.heads,
                         slices, cache.index, scores, batch.context);
    backend.select_keys(scores, batch.context, slices, indexer.top_k,
                        selected_keys(runtime) + (first + row) * words, words);
  }
}

void LatentAttention::attend(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                             const LayerCache& cache, int64_t first, int64_t rows, const float* x,
                             float* attended) const {
  Backend& backend = runtime.backend;
  const LatentWidths widths = latent_widths(spec_, heads_);
  float* q_a = runtime.workspace.floats(StepBuffer::latent);
  float* q_nope = q_a + rows * widths.q_a;
  float* q_rope = q_nope + rows * widths.q_nope;
  float* grouped = q_rope + rows * widths.q_rope;
  float* q = grouped + rows * widths.grouped;
  float* in_latent = q + rows * widths.q;
  const int64_t width = spec_.kv_rank + spec_.rope_dim;

  const float* hidden = x;
  if (spec_.q_rank) {
    backend.matmul(x, rows, weights_.q_a, data_or_null(weights_.q_a_bias), runtime.compute, q_a);
    backend.rms_norm(q_a, rows, *spec_.q_rank, *spec_.q_rank, weights_.q_a_norm.data(),
                     static_cast<float>(spec_.norm_eps), q_a);
    x = q_a;
  }
  backend.matmul(x, rows, weights_.q_nope, nullptr, runtime.compute, q_nope);
  backend.matmul(x, rows, weights_.q_rope, nullptr, runtime.compute, q_rope);
  ropes.rotate(backend, spec_.rope, q_rope, rows, heads_, spec_.rope_dim, widths.q_rope,
               batch.row_index.data() + first);

  const ByHead work(rows, heads_);
  backend.grouped_matmul(q_nope, {work.source, work.begin}, weights_.k_up, runtime.compute,
                         grouped);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t head = 0; head < heads_; ++head) {
      float* to = q + (row * heads_ + head) * width;
      to = std::copy_n(grouped + (head * rows + row) * spec_.kv_rank, spec_.kv_rank, to);
      std::copy_n(q_rope + (row * heads_ + head) * spec_.rope_dim, spec_.rope_dim, to);
    }
  }
  LatentShape shape;
  shape.heads = heads_;
  shape.scale = static_cast<float>(spec_.scale);
  if (spec_.indexer) {
    if (spec_.own_indexer() != nullptr) {
      choose_keys(runtime, batch, ropes, cache, first, rows, hidden, q_a,
                  in_latent + rows * widths.attended);
    }
    shape.selected_words = selected_words(batch.context);
    shape.selected = selected_keys(runtime) + first * shape.selected_words;
  }
  backend.latent_attention(q, widths.q, slices_within(batch.slices[cache.table], first, rows),
                           shape, cache.latent, in_latent);
  backend.grouped_matmul(in_latent, {work.source, work.begin}, weights_.v_up, runtime.compute,
                         grouped);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t head = 0; head < heads_; ++head) {
      std::copy_n(grouped + (head * rows + row) * spec_.v_dim, spec_.v_dim,
                  attended + (row * heads_ + head) * spec_.v_dim);
    }
  }
}

void LatentAttention::forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                              const LayerCache& cache, const float* x, float* out) const {
  const int64_t rows = batch.rows();
  const int64_t hidden = runtime.spec.hidden;
  float* attended = runtime.workspace.floats(StepBuffer::attended);
  if (heads_ > 0) {
    write_cache(runtime, batch, ropes, cache, x);
    if (spec_.own_indexer() != nullptr) write_index(runtime, batch, ropes, cache, x);
    for (int64_t first = 0; first < rows; first += latent_rows) {
      attend(runtime, batch, ropes, cache, first, std::min(latent_rows, rows - first),
             x + first * hidden, attended + first * heads_ * spec_.v_dim);
    }
  }
  runtime.partial_product(attended, rows, weights_.o, out);
  runtime.reduce_partial(out, rows * hidden, "attention output");
  add_bias(runtime, out, rows, weights_.o_bias);
}

}  // namespace dure
