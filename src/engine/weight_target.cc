// See weight_target.h.
#include "engine/weight_target.h"

#include "base/error.h"

namespace dure {

WeightTarget target_of(RankWeights& weights, const Resident& resident, const ModelSpec& spec,
                       const Layout& layout, const RankShare& share) {
  if (resident.slot == Slot::embedding) return {.table = &weights.embedding};
  if (resident.slot == Slot::head) return {.matrix = &weights.head};
  if (resident.slot == Slot::final_norm) return {.vector = &weights.final_norm};
  LayerWeights& layer = weights.layers[static_cast<size_t>(resident.layer - share.layers.begin)];
  const AttentionSpec& kind = spec.layers[static_cast<size_t>(resident.layer)].attention;
  const bool latent = std::holds_alternative<MlaSpec>(kind);
  LatentWeights& mla = layer.latent;
  size_t head = 0;
  if (resident.head >= 0) {
    const Range held = heads_of(kind, layout.tp, share.place.tp).q;
    head = static_cast<size_t>(resident.head - held.begin);
    mla.k_up.resize(static_cast<size_t>(held.size()));
    mla.v_up.resize(static_cast<size_t>(held.size()));
  }
  size_t expert = 0;
  if (resident.expert >= 0) {
    const auto& moe = std::get<MoeFfn>(spec.layers[static_cast<size_t>(resident.layer)].ffn);
    const Range held = experts_of(moe, layout, share.place.ep);
    expert = static_cast<size_t>(resident.expert - held.begin);
    layer.moe.gate_up.resize(static_cast<size_t>(held.size()));
    layer.moe.down.resize(static_cast<size_t>(held.size()));
  }
  switch (resident.slot) {
    case Slot::attention_norm:
      return {.vector = &layer.attention_norm};
    case Slot::ffn_norm:
      return {.vector = &layer.ffn_norm};
    case Slot::qkv:
      return {.matrix = &layer.attention.qkv};
    case Slot::qkv_bias:
      return {.vector = &layer.attention.qkv_bias};
    case Slot::o:
      return {.matrix = latent ? &mla.o : &layer.attention.o};
    case Slot::o_bias:
      return {.vector = latent ? &mla.o_bias : &layer.attention.o_bias};
    case Slot::sinks:
      return {.vector = &layer.attention.sinks};
    case Slot::after_attention_norm:
      return {.vector = &layer.after_attention_norm};
    case Slot::after_ffn_norm:
      return {.vector = &layer.after_ffn_norm};
    case Slot::q_a:
      return {.matrix = &mla.q_a};
    case Slot::q_a_bias:
      return {.vector = &mla.q_a_bias};
    case Slot::q_a_norm:
      return {.vector = &mla.q_a_norm};
    case Slot::q_nope:
      return {.matrix = &mla.q_nope};
    case Slot::q_rope:
      return {.matrix = &mla.q_rope};
    case Slot::kv_a:
      return {.matrix = &mla.kv_a};
    case Slot::kv_a_bias:
      return {.vector = &mla.kv_a_bias};
    case Slot::kv_a_norm:
      return {.vector = &mla.kv_a_norm};
    case Slot::k_up:
      return {.matrix = &mla.k_up[head]};
    case Slot::v_up:
      return {.matrix = &mla.v_up[head]};
    case Slot::index_q:
      return {.matrix = &mla.index_q};
    case Slot::index_k:
      return {.matrix = &mla.index_k};
    case Slot::index_k_norm:
      return {.vector = &mla.index_k_norm};
    case Slot::index_k_norm_bias:
      return {.vector = &mla.index_k_norm_bias};
    case Slot::index_weights:
      return {.matrix = &mla.index_weights};
    case Slot::q_norm:
      return {.vector = &layer.attention.q_norm};
    case Slot::k_norm:
      return {.vector = &layer.attention.k_norm};
    case Slot::state_in:
      return {.matrix = &layer.state.in};
    case Slot::state_decay_b:
      return {.matrix = &layer.state.decay_b};
    case Slot::state_gate_b:
      return {.matrix = &layer.state.gate_b};
    case Slot::state_conv:
      return {.vector = &layer.state.conv};
    case Slot::state_conv_bias:
      return {.vector = &layer.state.conv_bias};
    case Slot::state_decay_bias:
      return {.vector = &layer.state.decay_bias};
    case Slot::state_decay_log:
      return {.vector = &layer.state.decay_log};
    case Slot::state_skip:
      return {.vector = &layer.state.skip};
    case Slot::state_norm:
      return {.vector = &layer.state.norm};
    case Slot::state_out:
      return {.matrix = &layer.state.out};
    case Slot::gate_up:
      return {.matrix = &layer.mlp.gate_up};
    case Slot::gate_bias:
      return {.vector = &layer.mlp.gate_bias};
    case Slot::up_bias:
      return {.vector = &layer.mlp.up_bias};
    case Slot::down:
      return {.matrix = &layer.mlp.down};
    case Slot::down_bias:
      return {.vector = &layer.mlp.down_bias};
    case Slot::router:
      return {.matrix = &layer.moe.router};
    case Slot::router_bias:
      return {.vector = &layer.moe.router_bias};
    case Slot::router_correction:
      return {.vector = &layer.moe.correction};
    case Slot::expert_gate_bias:
      return {.vector = &layer.moe.gate_bias};
    case Slot::expert_up_bias:
      return {.vector = &layer.moe.up_bias};
    case Slot::expert_down_bias:
      return {.vector = &layer.moe.down_bias};
    case Slot::expert_gate_up:
      return {.matrix = &layer.moe.gate_up[expert]};
    case Slot::expert_down:
      return {.matrix = &layer.moe.down[expert]};
    case Slot::shared_gate_up:
      return {.matrix = &layer.moe.shared.gate_up};
    case Slot::shared_down:
      return {.matrix = &layer.moe.shared.down};
    case Slot::shared_router:
      return {.matrix = &layer.moe.shared_router};
    case Slot::beside_gate_up:
      return {.matrix = &layer.moe.beside.gate_up};
    case Slot::beside_down:
      return {.matrix = &layer.moe.beside.down};
    case Slot::after_beside_norm:
      return {.vector = &layer.moe.after_beside_norm};
    case Slot::experts_norm:
      return {.vector = &layer.moe.experts_norm};
    case Slot::after_experts_norm:
      return {.vector = &layer.moe.after_experts_norm};
    case Slot::router_scale:
      return {.vector = &layer.moe.router_scale};
    case Slot::expert_scale:
      return {.vector = &layer.moe.expert_scale};
    case Slot::layer_scale:
      return {.vector = &layer.output_scale};
    case Slot::embedding:
    case Slot::head:
    case Slot::final_norm:
    case Slot::planned_only:
      break;
  }
  DURE_CHECK(false);
  return {};
}

}  // namespace dure
