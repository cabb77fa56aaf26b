// See stage.h.
#include "engine/stage.h"

#include <algorithm>

#include "layers/embed_blocks.h"
#include "layers/mlp.h"
#include "layers/rope_table.h"

namespace dure {
namespace {

// Whether a layer sees the keys that the layer before it chose, which may be another stage's.
bool reuses_choice(const ModelSpec& spec, int64_t layer) {
  const auto* mla = std::get_if<MlaSpec>(&spec.layers[static_cast<size_t>(layer)].attention);
  return mla != nullptr && mla->indexer && mla->indexer->reuse;
}

}  // namespace

Stage::Stage(const Runtime& runtime, const RankWeights& weights, const KvCache& cache)
    : runtime_(runtime), weights_(weights), cache_(cache) {
  const Range held = runtime.share.layers;
  for (int64_t i = held.begin; i < held.end; ++i) {
    const LayerSpec& spec = runtime.spec.layers[static_cast<size_t>(i)];
    const LayerWeights& layer = weights.layers[static_cast<size_t>(i - held.begin)];
    Layer built;
    built.attention = make_attention(runtime, spec.attention, layer);
    built.dense = std::get_if<DenseFfn>(&spec.ffn);
    if (const auto* moe = std::get_if<MoeFfn>(&spec.ffn)) {
      built.moe = std::make_unique<Moe>(runtime, *moe, layer.moe);
    }
    layers_.push_back(std::move(built));
  }
}

void Stage::embed(const Batch& batch) {
  const auto span = runtime_.world.clock().time(StepPart::embedding, "embedding");
  float* hidden = runtime_.workspace.floats(StepBuffer::hidden);
  const Range vocab = runtime_.share.vocab;
  if (weights_.embedding.blocks) {
    embed_blocks(weights_.embedding, vocab, runtime_.spec.hidden, batch.tokens, hidden);
  } else {
    runtime_.backend.embed(weights_.embedding.rows, weights_.embedding.dtype, vocab.begin,
                           vocab.size(), runtime_.spec.hidden, batch.tokens, hidden);
  }
  const int64_t count = batch.rows() * runtime_.spec.hidden;
  runtime_.reduce_partial(hidden, count, "embedding");
  if (runtime_.spec.embedding_scale != 1.0) {
    runtime_.backend.scale(hidden, count, static_cast<float>(runtime_.spec.embedding_scale));
  }
}

void Stage::add_to_stream(int64_t rows, float* out, const Vector& after) {
  const ModelSpec& spec = runtime_.spec;
  const int64_t count = rows * spec.hidden;
  if (!after.empty()) {
    runtime_.backend.rms_norm(out, rows, spec.hidden, spec.hidden, after.data(),
                              static_cast<float>(spec.norm_eps), out);
  }
  if (spec.residual_scale != 1.0) {
    runtime_.backend.scale(out, count, static_cast<float>(spec.residual_scale));
  }
  runtime_.backend.add(runtime_.workspace.floats(StepBuffer::hidden), out, count);
}

std::span<float> Stage::chosen_keys(const Batch& batch) const {
  const auto words = static_cast<size_t>(batch.rows() * selected_words(batch.context));
  return {runtime_.workspace.floats(StepBuffer::selected), 2 * words};
}

void Stage::forward(const Batch& batch, std::vector<RouteTrace>* traces) {
  const RankPlace& place = runtime_.share.place;
  StepClock& clock = runtime_.world.clock();
  const int64_t rows = batch.rows();
  const int64_t count = rows * runtime_.spec.hidden;
  float* hidden = runtime_.workspace.floats(StepBuffer::hidden);
  float* normed = runtime_.workspace.floats(StepBuffer::normed);
  float* out = runtime_.workspace.floats(StepBuffer::partial);
  const auto stream = std::span(hidden, static_cast<size_t>(count));
  const auto norm = [&](const Vector& weight) {
    runtime_.backend.rms_norm(hidden, rows, runtime_.spec.hidden, runtime_.spec.hidden,
                              weight.data(), static_cast<float>(runtime_.spec.norm_eps), normed);
  };

  RopeTables ropes(batch.positions, batch.lengths);
  if (runtime_.share.first_stage) {
    embed(batch);
  } else {
    const int before = rank_of(runtime_.layout, place.stage - 1, place.dp, place.tp);
    runtime_.world.receive(before, std::as_writable_bytes(stream), "hidden states");
    if (reuses_choice(runtime_.spec, runtime_.share.layers.begin)) {
      runtime_.world.receive(before, std::as_writable_bytes(chosen_keys(batch)), "chosen keys");
    }
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerWeights& weights = weights_.layers[i];
    const Layer& layer = layers_[i];
    runtime_.world.begin_layer(static_cast<int>(runtime_.share.layers.begin) + static_cast<int>(i));
    if (layer.attention) {
      const auto span = clock.time(StepPart::attention, "attention");
      norm(weights.attention_norm);
      layer.attention->forward(runtime_, batch, ropes, cache_.layer(static_cast<int64_t>(i)),
                               normed, out);
      add_to_stream(rows, out, weights.after_attention_norm);
    }
    if (layer.moe) {
      const auto span = clock.time(StepPart::experts, "mixture of experts");
      norm(weights.ffn_norm);
      RouteTrace* trace = traces == nullptr ? nullptr : &traces->emplace_back();
      layer.moe->forward(runtime_, batch, hidden, normed, out, trace);
      add_to_stream(rows, out, weights.after_ffn_norm);
    } else if (layer.dense != nullptr) {
      const auto span = clock.time(StepPart::feed_forward, "feed-forward");
      norm(weights.ffn_norm);
      mlp_forward(runtime_, weights.mlp, layer.dense->activation, normed, rows, out,
                  "feed-forward output");
      add_to_stream(rows, out, weights.after_ffn_norm);
    }
    if (!weights.output_scale.empty()) {
      runtime_.backend.scale(hidden, count, weights.output_scale[0]);
    }
  }
  runtime_.world.begin_layer(-1);
  if (!runtime_.share.last_stage) {
    const int next = rank_of(runtime_.layout, place.stage + 1, place.dp, place.tp);
    runtime_.world.send(next, std::as_bytes(stream), "hidden states");
    if (reuses_choice(runtime_.spec, runtime_.share.layers.end)) {
      runtime_.world.send(next, std::as_bytes(chosen_keys(batch)), "chosen keys");
    }
  }
}

std::vector<Stage::MoeCounts> Stage::moe_counts() const {
  std::vector<MoeCounts> counts;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto layer = runtime_.share.layers.begin + static_cast<int64_t>(i);
    if (const auto& moe = layers_[i].moe) counts.push_back({layer, moe->experts(), moe->counts()});
  }
  return counts;
}

const float* Stage::compute_logits(const int64_t* rows, int64_t count) {
  const auto span = runtime_.world.clock().time(StepPart::logits, "logits");
  const int64_t width = runtime_.spec.hidden;
  const int64_t vocab = runtime_.spec.vocab;
  const float* hidden = runtime_.workspace.floats(StepBuffer::hidden);
  float* normed = runtime_.workspace.floats(StepBuffer::normed);
  float* local = runtime_.workspace.floats(StepBuffer::logits);
  for (int64_t i = 0; i < count; ++i) {
    runtime_.backend.rms_norm(hidden + rows[i] * width, 1, width, width, weights_.final_norm.data(),
                              static_cast<float>(runtime_.spec.norm_eps), normed + i * width);
  }
  runtime_.backend.matmul(normed, count, weights_.head, nullptr, runtime_.compute, local);
  const int64_t held_count = count * runtime_.share.vocab.size();
  if (runtime_.spec.logit_scale != 1.0) {
    runtime_.backend.scale(local, held_count, static_cast<float>(runtime_.spec.logit_scale));
  }
  if (runtime_.spec.logit_softcap != 0.0) {
    runtime_.backend.softcap(local, held_count, static_cast<float>(runtime_.spec.logit_softcap));
  }
  const int tp = runtime_.layout.tp;
  if (tp == 1) return local;

  float* by_rank = runtime_.workspace.floats(StepBuffer::all_logits);
  float* all = by_rank + count * vocab;
  std::vector<int64_t> sizes;
  sizes.reserve(static_cast<size_t>(tp));
  for (int rank = 0; rank < tp; ++rank) {
    sizes.push_back(count * cut_by_floor(vocab, tp, rank).size() *
                    static_cast<int64_t>(sizeof(float)));
  }
  runtime_.world.tp().all_gather(
      std::as_bytes(std::span(local, static_cast<size_t>(held_count))), sizes,
      std::as_writable_bytes(std::span(by_rank, static_cast<size_t>(count * vocab))), "logits");
  const float* from = by_rank;
  for (int rank = 0; rank < tp; ++rank) {
    const Range cut = cut_by_floor(vocab, tp, rank);
    for (int64_t i = 0; i < count; ++i, from += cut.size()) {
      std::copy_n(from, cut.size(), all + i * vocab + cut.begin);
    }
  }
  return all;
}

}  // namespace dure
