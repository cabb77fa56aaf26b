// See weight_kinds.h.
#include "cost/weight_kinds.h"

namespace dure {

int64_t& WeightKinds::of(Slot slot) {
  switch (slot) {
    case Slot::embedding:
    case Slot::head:
      return embedding;
    case Slot::qkv:
    case Slot::qkv_bias:
    case Slot::o:
    case Slot::o_bias:
    case Slot::q_a:
    case Slot::q_a_bias:
    case Slot::q_nope:
    case Slot::q_rope:
    case Slot::kv_a:
    case Slot::kv_a_bias:
    case Slot::k_up:
    case Slot::v_up:
    case Slot::index_q:
    case Slot::index_k:
    case Slot::index_weights:
    case Slot::state_in:
    case Slot::state_decay_b:
    case Slot::state_gate_b:
    case Slot::state_conv:
    case Slot::state_out:
      return attention;
    case Slot::gate_up:
    case Slot::gate_bias:
    case Slot::up_bias:
    case Slot::down:
    case Slot::down_bias:
    case Slot::shared_gate_up:
    case Slot::shared_down:
    case Slot::beside_gate_up:
    case Slot::beside_down:
      return dense;
    case Slot::expert_gate_up:
    case Slot::expert_down:
    case Slot::expert_gate_bias:
    case Slot::expert_up_bias:
    case Slot::expert_down_bias:
      return experts;
    default:
      return other;
  }
}

WeightKinds weight_kinds(const MemoryModel& model, const Layout& layout, int rank,
                         Compute compute) {
  WeightKinds kinds;
  for (const HeldTensor& each : model.held(layout, rank, compute)) {
    kinds.of(each.slot) += each.layers * each.experts * each.payload;
  }
  return kinds;
}

}  // namespace dure
