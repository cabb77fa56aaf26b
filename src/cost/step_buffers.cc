// See step_buffers.h.
#include "cost/step_buffers.h"

#include <algorithm>

#include "cost/state_shape.h"

namespace dure {
namespace {

// The widest of each kind over the layers of the rank.
struct Widths {
  int64_t qkv = 0;
  int64_t attended = 0;
  int64_t latent = 0;
  int64_t convolved = 0;
  int64_t state_gates = 0;
  int64_t norm_sums = 0;
  int64_t ffn = 0;
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t local_slots = 0;  // of one token, at most
  int64_t expert_mid = 0;
  bool shared = false;
  bool indexed = false;
};

void widen(int64_t& width, int64_t to) {
  width = std::max(width, to);
}

void widen_for(Widths& widths, const GqaSpec& gqa, const HeadShare& heads) {
  const int64_t out = heads.q.size() * gqa.v_head_dim;
  widen(widths.qkv, heads.q.size() * gqa.head_dim + (gqa.output_gate ? out : 0) +
                        heads.kv.size() * (gqa.head_dim + gqa.v_head_dim));
  widen(widths.attended, out);
  if (gqa.qk_norm == QkNorm::whole) widen(widths.norm_sums, gqa.heads + gqa.kv_heads + 1);
}

void widen_for(Widths& widths, const MlaSpec& mla, const HeadShare& heads) {
  const IndexerSpec* own = mla.own_indexer();
  widen(widths.qkv, mla.kv_rank + mla.rope_dim + (own != nullptr ? own->head_dim : 0));
  widths.indexed = widths.indexed || mla.indexer.has_value();
  widen(widths.attended, heads.q.size() * mla.v_dim);
  widen(widths.latent, latent_widths(mla, heads.q.size()).total());
}

void widen_for(Widths& widths, const StateRow& row) {
  widen(widths.qkv, row.total());
  widen(widths.convolved, row.convolved());
  widen(widths.state_gates, row.gates());
  widen(widths.attended, row.v);
}

void widen_for(Widths& widths, const DeltaNetSpec& delta, const HeadShare& heads) {
  widen_for(widths, state_row(delta, heads));
}

void widen_for(Widths& widths, const Mamba2Spec& mamba, const HeadShare& heads) {
  widen_for(widths, state_row(mamba, heads));
  widen(widths.norm_sums, mamba.heads + 1);
}

// Planned only: what its projections make.
void widen_for(Widths& widths, const CompressedSpec& compressed, const HeadShare& heads) {
  const int64_t width = heads.q.size() * compressed.head_dim;
  widen(widths.qkv, compressed.q_rank + width + compressed.head_dim);
  widen(widths.attended, width);
}

void widen_for(Widths&, std::monostate, const HeadShare&) {}

Widths widths_of(const ModelSpec& spec, const Layout& layout, const RankShare& share) {
  Widths widths;
  const auto cut = [](int64_t n, int parts, int index) {
    return cut_by_floor(n, parts, index).size();
  };
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const LayerSpec& layer = spec.layers[static_cast<size_t>(i)];
    const HeadShare heads = heads_of(layer.attention, layout.tp, share.place.tp);
    std::visit([&](const auto& kind) { widen_for(widths, kind, heads); }, layer.attention);
    if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
      widen(widths.ffn, cut(dense->intermediate, layout.tp, share.place.tp));
    } else if (const auto* mixture = std::get_if<MoeFfn>(&layer.ffn)) {
      const MoeFfn& moe = *mixture;
      widen(widths.experts, moe.experts);
      widen(widths.top_k, moe.top_k);
      widen(widths.local_slots,
            std::min(moe.top_k, experts_of(moe, layout, share.place.ep).size()));
      widen(widths.expert_mid, cut(moe.intermediate, layout.etp(), share.place.etp));
      if (moe.beside) {
        widen(widths.ffn, cut(moe.beside->intermediate, layout.tp, share.place.tp));
        widths.shared = true;
      }
      if (moe.shared) {
        widen(widths.ffn, cut(moe.shared->intermediate, layout.tp, share.place.tp));
        widths.shared = true;
      }
    }
  }
  return widths;
}

}  // namespace

std::string_view to_string(StepBuffer buffer) {
  switch (buffer) {
    case StepBuffer::hidden:
      return "hidden";
    case StepBuffer::normed:
      return "normed";
    case StepBuffer::qkv:
      return "qkv";
    case StepBuffer::latent:
      return "latent";
    case StepBuffer::index_scores:
      return "index_scores";
    case StepBuffer::selected:
      return "selected";
    case StepBuffer::attended:
      return "attended";
    case StepBuffer::convolved:
      return "convolved";
    case StepBuffer::state_gates:
      return "state_gates";
    case StepBuffer::partial:
      return "partial";
    case StepBuffer::ffn:
      return "ffn";
    case StepBuffer::norm_sums:
      return "norm_sums";
    case StepBuffer::router:
      return "router";
    case StepBuffer::routes:
      return "routes";
    case StepBuffer::shared:
      return "shared";
    case StepBuffer::dispatch_send:
      return "dispatch_send";
    case StepBuffer::expert_input:
      return "expert_input";
    case StepBuffer::expert_mid:
      return "expert_mid";
    case StepBuffer::expert_output:
      return "expert_output";
    case StepBuffer::expert_send:
      return "expert_send";
    case StepBuffer::expert_receive:
      return "expert_receive";
    case StepBuffer::expert_combined:
      return "expert_combined";
    case StepBuffer::logits:
      return "logits";
    case StepBuffer::all_logits:
      return "all_logits";
  }
  return "?";
}

LatentWidths latent_widths(const MlaSpec& mla, int64_t heads) {
  LatentWidths widths;
  widths.q_a = mla.q_rank.value_or(0);
  widths.q_nope = heads * mla.nope_dim;
  widths.q_rope = heads * mla.rope_dim;
  widths.grouped = heads * std::max(mla.kv_rank, mla.v_dim);
  widths.q = heads * (mla.kv_rank + mla.rope_dim);
  widths.attended = heads * mla.kv_rank;
  if (const IndexerSpec* own = mla.own_indexer()) {
    widths.index_q = own->heads * own->head_dim;
    widths.index_weights = own->heads;
  }
  return widths;
}

int64_t moe_chunk_tokens(const Layout& layout, int64_t max_batch_tokens) {
  constexpr int64_t tokens_of_all_groups = 512;
  return std::min(max_batch_tokens, std::max<int64_t>(16, tokens_of_all_groups / layout.dp));
}

std::vector<StepBufferSize> step_buffers(const ModelSpec& spec, const Layout& layout,
                                         const RankShare& share, int64_t max_batch_tokens,
                                         int64_t context) {
  const Widths widths = widths_of(spec, layout, share);
  const int64_t tokens = max_batch_tokens;
  const int64_t chunk = widths.experts > 0 ? moe_chunk_tokens(layout, tokens) : 0;
  const int64_t chunk_rows = chunk * layout.dp;
  const int64_t owned = (chunk + layout.tp - 1) / layout.tp;
  const bool alone = layout.stage_ranks() == 1;
  const int64_t rows = share.last_stage ? std::min(logit_rows, tokens) : 0;
  constexpr int64_t word = 4;  // bytes of fp32 and int32
  const auto size = [](StepBuffer buffer, int64_t words, bool communication = false) {
    return StepBufferSize{buffer, words * word, communication};
  };
  return {
      size(StepBuffer::hidden, tokens * spec.hidden),
      size(StepBuffer::normed, tokens * spec.hidden),
      size(StepBuffer::qkv, tokens * widths.qkv),
      size(StepBuffer::latent, std::min(latent_rows, tokens) * widths.latent),
      size(StepBuffer::index_scores, widths.indexed ? std::min(index_rows, tokens) * context : 0),
      size(StepBuffer::selected, widths.indexed ? 2 * tokens * selected_words(context) : 0),
      size(StepBuffer::attended, tokens * widths.attended),
      size(StepBuffer::convolved, tokens * widths.convolved),
      size(StepBuffer::state_gates, tokens * widths.state_gates),
      size(StepBuffer::partial, tokens * spec.hidden),
      size(StepBuffer::ffn, tokens * widths.ffn),
      size(StepBuffer::norm_sums, tokens * widths.norm_sums),
      size(StepBuffer::router, widths.experts > 0 ? tokens * (widths.experts + 1) : 0),
      size(StepBuffer::routes, 2 * tokens * widths.top_k),
      size(StepBuffer::shared, widths.shared ? tokens * spec.hidden : 0),
      size(StepBuffer::dispatch_send, owned * (layout.stage_ranks() - layout.tp) * spec.hidden,
           true),
      size(StepBuffer::expert_input, layout.dp > 1 ? chunk_rows * spec.hidden : 0, true),
      size(StepBuffer::expert_mid, chunk_rows * widths.local_slots * widths.expert_mid),
      size(StepBuffer::expert_output, chunk_rows * widths.local_slots * spec.hidden),
      size(StepBuffer::expert_send, alone ? 0 : chunk_rows * widths.local_slots * spec.hidden,
           true),
      size(StepBuffer::expert_receive,
           alone ? 0 : owned * widths.top_k * layout.etp() * spec.hidden, true),
      size(StepBuffer::expert_combined, alone ? 0 : owned * spec.hidden, true),
      size(StepBuffer::logits, rows * share.vocab.size()),
      size(StepBuffer::all_logits, layout.tp > 1 ? 2 * rows * spec.vocab : 0, true),
  };
}

}  // namespace dure
