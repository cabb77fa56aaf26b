// Which part of each weight a rank holds. The planner's bytes per rank and the loader's reads both
// come from here.
#pragma once

#include <optional>
#include <vector>

#include "cluster/layout.h"
#include "model/inventory.h"
#include "model/spec.h"

namespace dure {

// The rectangle of a weight [shape[0], shape[1] or 1] that a rank holds.
struct WeightSlice {
  Range outputs;  // along shape[0]
  Range inputs;   // along shape[1]; {0, 1} for vectors
  int64_t elements() const { return outputs.size() * inputs.size(); }
};

// What one rank computes, derived once from spec and layout.
struct RankShare {
  RankPlace place;
  Range layers;
  bool first_stage = false;
  bool last_stage = false;
  Range vocab;  // of embedding and head
};

RankShare share_of(const ModelSpec& spec, const Layout& layout, int rank);

// Query heads of a tp rank, and the kv heads that serve them (overlapping between ranks where they
// are replicated). A rank may hold none. Latent attention has no kv heads: what it caches is every
// rank's.
struct HeadShare {
  Range q;
  Range kv;
};
// For each query head of a share, which of its kv heads serves it; `group` query heads share one.
std::vector<int32_t> kv_of_heads(const HeadShare& share, int64_t group);
HeadShare heads_of(const GqaSpec& attention, int tp_size, int tp_index);
HeadShare heads_of(const MlaSpec& attention, int tp_size, int tp_index);
HeadShare heads_of(const DeltaNetSpec& delta, int tp_size, int tp_index);
HeadShare heads_of(const Mamba2Spec& mamba, int tp_size, int tp_index);
HeadShare heads_of(const CompressedSpec& attention, int tp_size, int tp_index);
HeadShare heads_of(std::monostate none, int tp_size, int tp_index);
HeadShare heads_of(const AttentionSpec& attention, int tp_size, int tp_index);

// Elements that a tp rank caches for each token of a layer.
int64_t cached_elements(const AttentionSpec& attention, int tp_size, int tp_index);

// Experts of a rank, and its cut of their intermediate width.
Range experts_of(const MoeFfn& moe, const Layout& layout, int ep_index);

// Nothing if the rank holds no part of the weight.
std::optional<WeightSlice> slice_of(const Weight& weight, const ModelSpec& spec,
                                    const Layout& layout, const RankShare& share);

// Throws bad_input if a rank of this layout would hold no layer, no expert, or no part of anything
// in its stage; its hint names the nearest layout below that is accepted.
void check_layout_for(const ModelSpec& spec, const Layout& layout);

// Whether every sum of this layout is added in the order that one rank adds it: tp, and the ranks
// that share an expert, are 1, 2, 4 or 8. Otherwise only tokens with a clear margin are promised,
// and `dure serve` says so.
bool keeps_the_same_bits(const ModelSpec& spec, const Layout& layout);

}  // namespace dure
