// See step_work.h.
#include "cost/step_work.h"

#include <algorithm>
#include <variant>

#include "cost/retype.h"
#include "cost/shard.h"
#include "cost/state_shape.h"

namespace dure {
namespace {

void add(MatrixWork& work, double elements, const MatrixFormat& format, bool retyped) {
  work.bytes += elements * (retyped ? format.bytes : 2.0);
  work.operations += 2.0 * elements;
  work.unit = format.unit;
}

// Of the weights that a full step reads, by which stages are compared.
double read_by(const LayerWork& kind) {
  return kind.attention.bytes + kind.dense.bytes + kind.expert.bytes * kind.experts_held;
}

// Launches of a decode step's layer, relative to grouped-query attention with a dense part.
double kernels_of(const AttentionSpec& attention) {
  if (const auto* mla = std::get_if<MlaSpec>(&attention)) return mla->indexer ? 2.2 : 1.8;
  if (std::holds_alternative<CompressedSpec>(attention)) return 2.2;
  if (std::holds_alternative<DeltaNetSpec>(attention)) return 1.4;
  if (std::holds_alternative<Mamba2Spec>(attention)) return 1.4;
  return 1.0;
}

void count_attention(const AttentionSpec& attention, const Layout& layout, const Numbers& numbers,
                     LayerWork& work) {
  const auto heads = static_cast<double>(heads_of(attention, layout.tp, 0).q.size());
  work.cache_bytes =
      static_cast<double>(cached_elements(attention, layout.tp, 0)) * numbers.cache_bytes;
  work.kernels = kernels_of(attention);
  work.reach = window_of(attention).value_or(0);
  work.state_bytes = 2.0 * static_cast<double>(state_of(attention, layout.tp, 0).total()) * 4.0;
  if (const auto* gqa = std::get_if<GqaSpec>(&attention)) {
    work.pair_operations = 2.0 * heads * static_cast<double>(gqa->head_dim + gqa->v_head_dim);
    work.prefill_pair_operations = work.pair_operations;
  } else if (const auto* mla = std::get_if<MlaSpec>(&attention)) {
    work.pair_operations = 2.0 * heads * static_cast<double>(2 * mla->kv_rank + mla->rope_dim);
    work.prefill_pair_operations =
        2.0 * heads * static_cast<double>(mla->nope_dim + mla->rope_dim + mla->v_dim);
    if (mla->indexer) {
      work.reach = mla->indexer->top_k;
      work.prefill_pair_operations = work.pair_operations;
      if (mla->own_indexer() != nullptr) {
        work.index_bytes = static_cast<double>(mla->indexer->head_dim) * numbers.cache_bytes;
      }
    }
  } else if (const auto* compressed = std::get_if<CompressedSpec>(&attention)) {
    work.pair_operations = 4.0 * heads * static_cast<double>(compressed->head_dim);
    work.prefill_pair_operations = work.pair_operations;
  }
}

}  // namespace

bool is_of_feed_forward(Part part) {
  switch (part) {
    case Part::gate:
    case Part::up:
    case Part::down:
    case Part::router:
    case Part::shared_gate:
    case Part::shared_up:
    case Part::shared_down:
    case Part::shared_router:
    case Part::beside_gate:
    case Part::beside_up:
    case Part::beside_down:
    case Part::latent_in:
    case Part::latent_out:
      return true;
    default:
      return false;
  }
}

WorkModel::WorkModel(const ModelSpec& spec) : spec_(spec) {
  for (const LayerSpec& layer : spec_.layers) {
    const auto same = std::find(spec_.layers.begin(), spec_.layers.end(), layer);
    kind_of_.push_back(static_cast<size_t>(same - spec_.layers.begin()));
  }
  for (const Weight& weight : inventory_of_kinds(spec_)) {
    if (weight.is_matrix() && weight.expert <= 0) weights_.push_back(weight);
  }
}

StepWork WorkModel::of(const Layout& layout, const Numbers& numbers) const {
  StepWork step;
  step.hidden = static_cast<double>(spec_.hidden);
  step.layout = layout;
  step.layers = static_cast<int>(spec_.layers.size());
  RankShare everywhere = share_of(spec_, layout, 0);  // a slice does not depend on the stage
  everywhere.layers = {0, step.layers};
  everywhere.last_stage = true;

  std::vector<size_t> kinds;     // the first layer of each
  std::vector<size_t> kind_at;   // [layers] the place of its kind in `kinds`
  std::vector<LayerWork> works;  // [kinds]
  for (const size_t first : kind_of_) {
    const auto same = std::find(kinds.begin(), kinds.end(), first);
    kind_at.push_back(static_cast<size_t>(same - kinds.begin()));
    if (same != kinds.end()) continue;
    kinds.push_back(first);
    LayerWork& work = works.emplace_back();
    const LayerSpec& layer = spec_.layers[first];
    count_attention(layer.attention, layout, numbers, work);
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
      work.experts = static_cast<double>(moe->experts);
      work.experts_held = static_cast<double>(experts_of(*moe, layout, 0).size());
      work.top_k = static_cast<double>(moe->top_k);
    }
  }
  MatrixWork head;
  for (const Weight& weight : weights_) {
    const std::optional<WeightSlice> slice = slice_of(weight, spec_, layout, everywhere);
    if (!slice) continue;
    const auto elements = static_cast<double>(slice->elements());
    if (weight.part == Part::lm_head || (weight.part == Part::embedding && spec_.tied_embeddings)) {
      add(head, elements, MatrixFormat{}, false);
    }
    const auto kind = std::find(kinds.begin(), kinds.end(), static_cast<size_t>(weight.layer));
    if (weight.layer < 0 || kind == kinds.end()) continue;
    LayerWork& work = works[static_cast<size_t>(kind - kinds.begin())];
    if (weight.expert == 0) {
      add(work.expert, elements, numbers.experts, true);
    } else if (is_of_feed_forward(weight.part)) {
      add(work.dense, elements, numbers.dense, is_retyped(weight));
    } else {
      add(work.attention, elements, numbers.attention, is_retyped(weight));
    }
  }

  double most = -1.0;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const RankShare share = share_of(spec_, layout, rank_of(layout, stage, 0, 0));
    std::vector<int> counts(kinds.size());
    double bytes = share.last_stage ? head.bytes : 0.0;
    for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
      const size_t kind = kind_at[static_cast<size_t>(i)];
      ++counts[kind];
      bytes += read_by(works[kind]);
    }
    if (bytes <= most) continue;
    most = bytes;
    step.stage = stage;
    step.head = share.last_stage ? head : MatrixWork{};
    step.kinds.clear();
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      if (counts[kind] == 0) continue;
      step.kinds.push_back(works[kind]);
      step.kinds.back().layers = counts[kind];
    }
  }
  return step;
}

StepWork work_of(const ModelSpec& spec, const Layout& layout, const Numbers& numbers) {
  return WorkModel(spec).of(layout, numbers);
}

}  // namespace dure
