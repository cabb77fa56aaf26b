// See engine_activation.h. Widths are elements of one token that are alive at once: the residual
// stream, an operation's input and its output.
#include "cost/engine_activation.h"

#include <algorithm>
#include <cmath>

#include "cost/most_bytes.h"
#include "cost/state_shape.h"

namespace dure {
namespace {

int64_t width_of(const GqaSpec& gqa, const HeadShare& heads) {
  const int64_t out = heads.q.size() * gqa.v_head_dim;
  return heads.q.size() * gqa.head_dim + (gqa.output_gate ? out : 0) +
         heads.kv.size() * (gqa.head_dim + gqa.v_head_dim) + out;
}

// Prefill makes keys and values of all heads from the latent vector.
int64_t width_of(const MlaSpec& mla, const HeadShare& heads) {
  const int64_t key = mla.nope_dim + mla.rope_dim;
  return mla.q_rank.value_or(0) + mla.kv_rank + mla.rope_dim +
         heads.q.size() * (2 * key + 2 * mla.v_dim);
}

int64_t width_of(const StateRow& row) {
  return row.total() + row.convolved() + row.v;
}

int64_t width_of(const DeltaNetSpec& delta, const HeadShare& heads) {
  return width_of(state_row(delta, heads));
}

int64_t width_of(const Mamba2Spec& mamba, const HeadShare& heads) {
  return width_of(state_row(mamba, heads));
}

int64_t width_of(const CompressedSpec& compressed, const HeadShare& heads) {
  return compressed.q_rank + compressed.head_dim + 2 * heads.q.size() * compressed.head_dim;
}

int64_t width_of(std::monostate, const HeadShare&) {
  return 0;
}

int64_t width_of(const DenseFfn& dense, const Layout& layout) {
  const int64_t inner = (dense.intermediate + layout.tp - 1) / layout.tp;
  return (dense.activation.has_gate() ? 3 : 2) * inner;
}

// Engines gather the rows of all chosen experts: their first product and their last share one
// buffer, the activated rows lie in another. Ranks that share a layer's experts each hold the rows
// of theirs, at worst all.
int64_t width_of(const MoeFfn& moe, const Layout& layout, int64_t hidden) {
  const int64_t inner = (moe.intermediate + layout.etp() - 1) / layout.etp();
  const int64_t width = moe.latent ? moe.latent->width : hidden;
  const int64_t first = (moe.activation.has_gate() ? 2 : 1) * inner;
  int64_t elements = moe.top_k * (std::max(first, width) + inner) + width + 2 * moe.experts;
  if (moe.shared) elements += hidden;
  if (moe.beside) elements += hidden;
  return elements;
}

int64_t width_of(const FfnSpec& ffn, const Layout& layout, int64_t hidden) {
  if (const auto* dense = std::get_if<DenseFfn>(&ffn)) return width_of(*dense, layout);
  if (const auto* moe = std::get_if<MoeFfn>(&ffn)) return width_of(*moe, layout, hidden);
  return 0;
}

}  // namespace

ActivationPeak activation_peak(const ModelSpec& spec, const EngineProfile& profile,
                               const Layout& layout, const RankShare& share, int64_t tokens,
                               int64_t element_bytes) {
  int64_t widest = 0;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const LayerSpec& layer = spec.layers[static_cast<size_t>(i)];
    const HeadShare heads = heads_of(layer.attention, layout.tp, share.place.tp);
    widest = std::max(
        {widest,
         std::visit([&](const auto& kind) { return width_of(kind, heads); }, layer.attention),
         width_of(layer.ffn, layout, spec.hidden)});
  }
  ActivationPeak peak;
  peak.layers = bounded_product(tokens, (3 * spec.hidden * spec.streams + widest) * element_bytes);
  if (!share.last_stage) return peak;
  // The layers' output and the last residual are still there. Ranks of a tensor-parallel group
  // gather the logits, so each has them all; whole, the head's output is one more copy.
  constexpr double fp32_bytes = 4.0;
  const double copies =
      profile.sampler_copies + (element_bytes == 4 ? 1.0 : element_bytes / fp32_bytes);
  const auto logits = static_cast<double>(profile.max_sequences * spec.vocab) * fp32_bytes;
  peak.sampler = 2 * tokens * spec.hidden * element_bytes +
                 static_cast<int64_t>(std::llround(copies * logits));
  return peak;
}

}  // namespace dure
