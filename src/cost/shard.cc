// See shard.h. Each Split has one rule here; everything else (bytes per rank, what is read from
// disk, which kernels see which columns) follows from these ranges.
#include "cost/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace dure {
namespace {

Range scaled(Range range, int64_t by) {
  return {range.begin * by, range.end * by};
}

const AttentionSpec& attention_of(const Weight& weight, const ModelSpec& spec) {
  return spec.layers[static_cast<size_t>(weight.layer)].attention;
}

bool on_this_stage(const Weight& weight, const ModelSpec& spec, const RankShare& share) {
  if (weight.layer >= 0) {
    return weight.layer >= share.layers.begin && weight.layer < share.layers.end;
  }
  if (weight.part == Part::embedding) {
    return share.first_stage || (share.last_stage && spec.tied_embeddings);
  }
  return share.last_stage;
}

bool holds_expert(const Weight& weight, const ModelSpec& spec, const Layout& layout,
                  const RankShare& share) {
  const auto& moe = std::get<MoeFfn>(spec.layers[static_cast<size_t>(weight.layer)].ffn);
  const Range experts = experts_of(moe, layout, share.place.ep);
  return weight.expert >= experts.begin && weight.expert < experts.end;
}

// The most ways in which one layer's matrices can be cut over tensor-parallel ranks; nothing for a
// layer that has none.
std::optional<int64_t> widest_cut(const LayerSpec& layer) {
  if (std::holds_alternative<std::monostate>(layer.attention) &&
      std::holds_alternative<std::monostate>(layer.ffn)) {
    return std::nullopt;
  }
  int64_t widest = query_heads(layer.attention);
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    return std::max(widest, dense->intermediate);
  }
  const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
  if (moe == nullptr) return widest;
  if (moe->shared) widest = std::max(widest, moe->shared->intermediate);
  return std::max(widest, moe->experts * moe->intermediate);
}

// Why ranks of a layout would have nothing to do.
struct Misfit {
  std::string message;
  const char* flag;
};

int64_t layer_count(const ModelSpec& spec) {
  return static_cast<int64_t>(spec.layers.size());
}

std::optional<Misfit> misfit_of_pp(const ModelSpec& spec, const Layout& layout) {
  if (layout.pp <= layer_count(spec)) return std::nullopt;
  return Misfit{fmt::format("--pp {}: {} stages for {} layers would leave ranks without a layer",
                            layout.pp, layout.pp, layer_count(spec)),
                "pp"};
}

// A rank may hold nothing of some layers (a recurrent one without feed-forward part has few heads),
// but not of all that its stage has.
std::optional<Misfit> misfit_of_tp(const ModelSpec& spec, const Layout& layout) {
  for (int stage = 0; stage < layout.pp; ++stage) {
    const Range layers = cut_front_heavy(layer_count(spec), layout.pp, stage);
    std::optional<int64_t> widest;
    for (int64_t i = layers.begin; i < layers.end; ++i) {
      widest = std::max(widest, widest_cut(spec.layers[static_cast<size_t>(i)]));
    }
    if (!widest || layout.tp <= *widest) continue;
    const std::string of = layers.size() == 1
                               ? fmt::format("layer {}", layers.begin)
                               : fmt::format("layers {} to {}", layers.begin, layers.end - 1);
    return Misfit{fmt::format("--tp {}: {} can be cut {} ways at most, so ranks would hold nothing",
                              layout.tp, of, *widest),
                  "tp"};
  }
  return std::nullopt;
}

std::optional<Misfit> misfit_of_ep(const ModelSpec& spec, const Layout& layout) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto* moe = std::get_if<MoeFfn>(&spec.layers[i].ffn);
    if (moe == nullptr || layout.ep <= moe->experts) continue;
    return Misfit{fmt::format("--ep {}: layer {} has {} experts, so ranks would hold none",
                              layout.ep, i, moe->experts),
                  "ep"};
  }
  return std::nullopt;
}

std::optional<Misfit> misfit_of(const ModelSpec& spec, const Layout& layout) {
  std::optional<Misfit> misfit = misfit_of_pp(spec, layout);
  if (!misfit) misfit = misfit_of_ep(spec, layout);
  if (!misfit) misfit = misfit_of_tp(spec, layout);
  return misfit;
}

// The flags to change, to the largest sizes below that are accepted together: "--tp 8 --ep 4".
std::string nearest_accepted(const ModelSpec& spec, const Layout& asked) {
  Layout layout = asked;
  const auto splits_ranks = [&] { return layout.stage_ranks() % layout.ep == 0; };
  while (misfit_of_pp(spec, layout)) --layout.pp;
  while (misfit_of_tp(spec, layout)) --layout.tp;
  while (!splits_ranks() || misfit_of_ep(spec, layout)) --layout.ep;
  std::string flags;
  const auto name = [&](const char* flag, int was, int is) {
    if (is != was) flags += fmt::format("{}{} {}", flags.empty() ? "" : " ", flag, is);
  };
  name("--tp", asked.tp, layout.tp);
  name("--pp", asked.pp, layout.pp);
  name("--ep", asked.ep, layout.ep);
  return flags;
}

// Query heads in runs that share a kv head.
HeadShare grouped(int64_t heads, int64_t kv_heads, int tp_size, int tp_index) {
  HeadShare share;
  share.q = cut_by_floor(heads, tp_size, tp_index);
  if (share.q.size() == 0) return share;
  const int64_t group = heads / kv_heads;  // query heads per kv head
  share.kv = {share.q.begin / group, (share.q.end - 1) / group + 1};
  return share;
}

}  // namespace

RankShare share_of(const ModelSpec& spec, const Layout& layout, int rank) {
  DURE_CHECK(rank >= 0 && rank < layout.world());
  RankShare share;
  share.place = place_of(layout, rank);
  share.layers =
      cut_front_heavy(static_cast<int64_t>(spec.layers.size()), layout.pp, share.place.stage);
  share.first_stage = share.place.stage == 0;
  share.last_stage = share.place.stage == layout.pp - 1;
  share.vocab = cut_by_floor(spec.vocab, layout.tp, share.place.tp);
  return share;
}

std::vector<int32_t> kv_of_heads(const HeadShare& share, int64_t group) {
  std::vector<int32_t> kv;
  for (int64_t head = share.q.begin; head < share.q.end; ++head) {
    kv.push_back(static_cast<int32_t>(head / group - share.kv.begin));
  }
  return kv;
}

HeadShare heads_of(const GqaSpec& attention, int tp_size, int tp_index) {
  return grouped(attention.heads, attention.kv_heads, tp_size, tp_index);
}

HeadShare heads_of(const MlaSpec& attention, int tp_size, int tp_index) {
  return {cut_by_floor(attention.heads, tp_size, tp_index), {}};
}

HeadShare heads_of(const DeltaNetSpec& delta, int tp_size, int tp_index) {
  return grouped(delta.heads, delta.key_heads, tp_size, tp_index);
}

HeadShare heads_of(const Mamba2Spec& mamba, int tp_size, int tp_index) {
  return grouped(mamba.heads, mamba.groups, tp_size, tp_index);
}

HeadShare heads_of(const CompressedSpec& attention, int tp_size, int tp_index) {
  return {cut_by_floor(attention.heads, tp_size, tp_index), {}};
}

HeadShare heads_of(std::monostate, int, int) {
  return {};
}

HeadShare heads_of(const AttentionSpec& attention, int tp_size, int tp_index) {
  return std::visit([&](const auto& kind) { return heads_of(kind, tp_size, tp_index); }, attention);
}

int64_t cached_elements(const AttentionSpec& attention, int tp_size, int tp_index) {
  const HeadShare heads = heads_of(attention, tp_size, tp_index);
  if (const auto* gqa = std::get_if<GqaSpec>(&attention)) {
    const int64_t index = gqa->block_indexer ? gqa->block_indexer->head_dim : 0;
    return heads.kv.size() * (gqa->head_dim + gqa->v_head_dim) + index;
  }
  if (heads.q.size() == 0) return 0;
  if (const auto* mla = std::get_if<MlaSpec>(&attention)) {
    const IndexerSpec* own = mla->own_indexer();
    return mla->kv_rank + mla->rope_dim + (own != nullptr ? own->head_dim : 0);
  }
  const auto* compressed = std::get_if<CompressedSpec>(&attention);
  if (compressed == nullptr || compressed->ratio == 0) return 0;
  const int64_t key =
      compressed->head_dim + (compressed->indexer ? compressed->indexer->head_dim : 0);
  return (key + compressed->ratio - 1) / compressed->ratio;
}

Range experts_of(const MoeFfn& moe, const Layout& layout, int ep_index) {
  return cut_front_heavy(moe.experts, layout.ep, ep_index);
}

std::optional<WeightSlice> slice_of(const Weight& weight, const ModelSpec& spec,
                                    const Layout& layout, const RankShare& share) {
  if (!on_this_stage(weight, spec, share)) return std::nullopt;
  const bool routed = weight.expert >= 0;
  if (routed && !holds_expert(weight, spec, layout, share)) return std::nullopt;

  WeightSlice slice;
  slice.outputs = {0, weight.shape[0]};
  slice.inputs = {0, weight.is_matrix() ? weight.shape[1] : 1};
  const int parts = routed ? layout.etp() : layout.tp;
  const int index = routed ? share.place.etp : share.place.tp;
  switch (weight.split) {
    case Split::replicated:
      break;
    case Split::vocabulary:
      slice.outputs = share.vocab;
      break;
    case Split::q_heads: {
      const AttentionSpec& attention = attention_of(weight, spec);
      slice.outputs = scaled(heads_of(attention, layout.tp, share.place.tp).q,
                             weight.shape[0] / query_heads(attention));
      break;
    }
    case Split::kv_heads: {
      const AttentionSpec& attention = attention_of(weight, spec);
      slice.outputs = scaled(heads_of(attention, layout.tp, share.place.tp).kv,
                             weight.shape[0] / kv_heads(attention));
      break;
    }
    case Split::q_heads_input: {
      const AttentionSpec& attention = attention_of(weight, spec);
      slice.inputs = scaled(heads_of(attention, layout.tp, share.place.tp).q,
                            weight.shape[1] / query_heads(attention));
      break;
    }
    case Split::one_head: {
      const Range held = heads_of(attention_of(weight, spec), layout.tp, share.place.tp).q;
      if (weight.head < held.begin || weight.head >= held.end) return std::nullopt;
      break;
    }
    case Split::columns:
      slice.outputs = cut_by_floor(weight.shape[0], parts, index);
      break;
    case Split::rows:
      slice.inputs = cut_by_floor(weight.shape[1], parts, index);
      break;
  }
  if (slice.elements() == 0) return std::nullopt;
  return slice;
}

void check_layout_for(const ModelSpec& spec, const Layout& layout) {
  check_layout(layout);
  if (const std::optional<Misfit> misfit = misfit_of(spec, layout)) {
    throw_bad_input(misfit->message, "use " + nearest_accepted(spec, layout), misfit->flag);
  }
}

bool keeps_the_same_bits(const ModelSpec& spec, const Layout& layout) {
  const auto is_moe = [](const LayerSpec& layer) {
    return std::holds_alternative<MoeFfn>(layer.ffn);
  };
  return keeps_subtrees(layout.tp) &&
         (keeps_subtrees(layout.etp()) ||
          std::none_of(spec.layers.begin(), spec.layers.end(), is_moe));
}

}  // namespace dure
