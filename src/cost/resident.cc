// See resident.h: one table says which parts of the inventory form which slot; the rest follows
// from it.
#include "cost/resident.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

struct Rule {
  Part part;
  Slot slot;
  Form form;
};

// Parts of one slot stand together, in stacking order.
constexpr std::array rules = {
    Rule{Part::embedding, Slot::embedding, Form::table},
    Rule{Part::lm_head, Slot::head, Form::packed},
    Rule{Part::final_norm, Slot::final_norm, Form::vector},
    Rule{Part::attention_norm, Slot::attention_norm, Form::vector},
    Rule{Part::ffn_norm, Slot::ffn_norm, Form::vector},
    Rule{Part::q, Slot::qkv, Form::packed},
    Rule{Part::k, Slot::qkv, Form::packed},
    Rule{Part::v, Slot::qkv, Form::packed},
    Rule{Part::output_gate, Slot::qkv, Form::packed},
    Rule{Part::q_bias, Slot::qkv_bias, Form::vector},
    Rule{Part::k_bias, Slot::qkv_bias, Form::vector},
    Rule{Part::v_bias, Slot::qkv_bias, Form::vector},
    Rule{Part::o, Slot::o, Form::packed},
    Rule{Part::o_bias, Slot::o_bias, Form::vector},
    Rule{Part::q_norm, Slot::q_norm, Form::vector},
    Rule{Part::k_norm, Slot::k_norm, Form::vector},
    Rule{Part::after_attention_norm, Slot::after_attention_norm, Form::vector},
    Rule{Part::after_ffn_norm, Slot::after_ffn_norm, Form::vector},
    Rule{Part::sinks, Slot::sinks, Form::vector},
    Rule{Part::q_a, Slot::q_a, Form::packed},
    Rule{Part::q_a_bias, Slot::q_a_bias, Form::vector},
    Rule{Part::q_a_norm, Slot::q_a_norm, Form::vector},
    Rule{Part::q_nope, Slot::q_nope, Form::packed},
    Rule{Part::q_rope, Slot::q_rope, Form::packed},
    Rule{Part::kv_a, Slot::kv_a, Form::packed},
    Rule{Part::kv_a_bias, Slot::kv_a_bias, Form::vector},
    Rule{Part::kv_a_norm, Slot::kv_a_norm, Form::vector},
    Rule{Part::k_up, Slot::k_up, Form::packed},
    Rule{Part::v_up, Slot::v_up, Form::packed},
    Rule{Part::index_q, Slot::index_q, Form::packed},
    Rule{Part::index_k, Slot::index_k, Form::packed},
    Rule{Part::index_k_norm, Slot::index_k_norm, Form::vector},
    Rule{Part::index_k_norm_bias, Slot::index_k_norm_bias, Form::vector},
    Rule{Part::index_weights, Slot::index_weights, Form::packed},
    Rule{Part::state_q, Slot::state_in, Form::packed},
    Rule{Part::state_k, Slot::state_in, Form::packed},
    Rule{Part::state_v, Slot::state_in, Form::packed},
    Rule{Part::state_gate, Slot::state_in, Form::packed},
    Rule{Part::state_beta, Slot::state_in, Form::packed},
    Rule{Part::state_decay, Slot::state_in, Form::packed},
    Rule{Part::state_decay_a, Slot::state_in, Form::packed},
    Rule{Part::state_gate_a, Slot::state_in, Form::packed},
    Rule{Part::state_decay_b, Slot::state_decay_b, Form::packed},
    Rule{Part::state_gate_b, Slot::state_gate_b, Form::packed},
    Rule{Part::state_conv_q, Slot::state_conv, Form::turned},
    Rule{Part::state_conv_k, Slot::state_conv, Form::turned},
    Rule{Part::state_conv_v, Slot::state_conv, Form::turned},
    Rule{Part::state_conv_bias_q, Slot::state_conv_bias, Form::vector},
    Rule{Part::state_conv_bias_k, Slot::state_conv_bias, Form::vector},
    Rule{Part::state_conv_bias_v, Slot::state_conv_bias, Form::vector},
    Rule{Part::state_decay_bias, Slot::state_decay_bias, Form::vector},
    Rule{Part::state_decay_log, Slot::state_decay_log, Form::vector},
    Rule{Part::state_skip, Slot::state_skip, Form::vector},
    Rule{Part::state_norm, Slot::state_norm, Form::vector},
    Rule{Part::state_out, Slot::state_out, Form::packed},
    Rule{Part::gate, Slot::gate_up, Form::packed},
    Rule{Part::up, Slot::gate_up, Form::packed},
    Rule{Part::gate_bias, Slot::gate_bias, Form::vector},
    Rule{Part::up_bias, Slot::up_bias, Form::vector},
    Rule{Part::down, Slot::down, Form::packed},
    Rule{Part::down_bias, Slot::down_bias, Form::vector},
    Rule{Part::router, Slot::router, Form::packed},
    Rule{Part::router_bias, Slot::router_bias, Form::vector},
    Rule{Part::expert_down_bias, Slot::expert_down_bias, Form::vector},
    Rule{Part::router_correction, Slot::router_correction, Form::vector},
    Rule{Part::shared_gate, Slot::shared_gate_up, Form::packed},
    Rule{Part::shared_up, Slot::shared_gate_up, Form::packed},
    Rule{Part::shared_down, Slot::shared_down, Form::packed},
    Rule{Part::shared_router, Slot::shared_router, Form::packed},
    Rule{Part::beside_gate, Slot::beside_gate_up, Form::packed},
    Rule{Part::beside_up, Slot::beside_gate_up, Form::packed},
    Rule{Part::beside_down, Slot::beside_down, Form::packed},
    Rule{Part::after_beside_norm, Slot::after_beside_norm, Form::vector},
    Rule{Part::experts_norm, Slot::experts_norm, Form::vector},
    Rule{Part::after_experts_norm, Slot::after_experts_norm, Form::vector},
    Rule{Part::router_scale, Slot::router_scale, Form::vector},
    Rule{Part::expert_scale, Slot::expert_scale, Form::vector},
    Rule{Part::layer_scale, Slot::layer_scale, Form::vector},
};

// bind_inventory refuses models with parts that no rule names, so that they are only counted.
constexpr Rule unruled{Part::embedding, Slot::planned_only, Form::table};

const Rule& rule_of(Part part) {
  const auto* rule = std::find_if(rules.begin(), rules.end(),
                                  [part](const Rule& each) { return each.part == part; });
  return rule == rules.end() ? unruled : *rule;
}

Slot slot_of(const Weight& weight) {
  const Slot slot = rule_of(weight.part).slot;
  if (weight.expert < 0) return slot;
  switch (slot) {
    case Slot::gate_up:
      return Slot::expert_gate_up;
    case Slot::down:
      return Slot::expert_down;
    case Slot::gate_bias:
      return Slot::expert_gate_bias;
    case Slot::up_bias:
      return Slot::expert_up_bias;
    default:
      return slot;
  }
}

bool is_gate(Part part) {
  return part == Part::gate || part == Part::shared_gate || part == Part::beside_gate;
}

// The pieces in which a product with this weight is summed on this rank.
std::vector<int64_t> segments_of(const ResidentPiece& piece, const ModelSpec& spec,
                                 const Layout& layout, const RankShare& share) {
  const Weight& weight = *piece.weight;
  if (weight.split == Split::q_heads_input) {
    const int64_t heads = query_heads(spec.layers[static_cast<size_t>(weight.layer)].attention);
    return tree_segments_of(heads, weight.shape[1] / heads, layout.tp, share.place.tp);
  }
  if (weight.split == Split::rows) {
    return weight.expert >= 0 ? tree_segments_of(weight.shape[1], 1, layout.etp(), share.place.etp)
                              : tree_segments_of(weight.shape[1], 1, layout.tp, share.place.tp);
  }
  return whole_segment(piece.slice.inputs.size());
}

// A router decides which experts run, so it is never rounded: its products are fp32 in every mode.
// The same holds for an indexer, which decides which keys are seen.
bool decides(Slot slot) {
  return slot == Slot::router || slot == Slot::shared_router || slot == Slot::index_q ||
         slot == Slot::index_k || slot == Slot::index_weights;
}

// The type that holds exactly what all weights of each product are stored in: the matrices that are
// stacked, and those of a layer's experts or heads, which the kernels read in one call. It is taken
// over all of them, on whatever rank they lie, so that no layout changes a kernel. And whether all
// of them may be kept in blocks, those of experts or heads in the same ones.
class StoredTypes {
 public:
  explicit StoredTypes(const std::vector<Weight>& weights) {
    for (const Weight& weight : weights) {
      const auto [at, fresh] =
          types_.try_emplace({weight.layer, slot_of(weight)}, Stored{weight.dtype, true, {}});
      Stored& stored = at->second;
      if (stored.type != weight.dtype) stored.type = DType::f32;
      stored.in_blocks = stored.in_blocks && weight.rows_of_blocks();
      if (!stored.in_blocks) continue;
      const BlockRows kept = {0, *weight.blocks, weight.scales};
      const auto [part, first] = stored.blocks.try_emplace(weight.part, kept);
      stored.in_blocks = part->second == kept;
    }
  }
  DType of(const Weight& weight) const { return stored(weight).type; }
  bool in_blocks(const Weight& weight) const { return stored(weight).in_blocks; }

 private:
  struct Stored {
    DType type = DType::bf16;
    bool in_blocks = true;
    std::map<Part, BlockRows> blocks;
  };
  const Stored& stored(const Weight& weight) const {
    return types_.at({weight.layer, slot_of(weight)});
  }
  std::map<std::pair<int, Slot>, Stored> types_;
};

void finish(Resident& resident, const StoredTypes& types, const ModelSpec& spec,
            const Layout& layout, const RankShare& share, Arithmetic arithmetic) {
  if (resident.form != Form::packed) {
    if (resident.form != Form::table) return;
    const Weight& weight = *resident.pieces[0].weight;
    resident.dtype = weight.dtype;
    if (!weight.scales) resident.blocks = weight.blocks;
    return;
  }
  PackedShape& shape = resident.shape;
  const ResidentPiece& first = resident.pieces[0];
  for (const ResidentPiece& piece : resident.pieces) shape.n += piece.slice.outputs.size();
  const DType stored = types.of(*first.weight);
  shape.dtype = decides(resident.slot) ? stored : resident_dtype(stored, arithmetic.compute);
  if (!decides(resident.slot) && first.weight->shape[1] >= quantized_inputs) {
    shape.codes = arithmetic.quantize;
  }
  const bool in_blocks = !shape.coded() && types.in_blocks(*first.weight);
  if (in_blocks) {
    for (const ResidentPiece& piece : resident.pieces) {
      shape.block_rows.push_back(
          {piece.slice.outputs.size(), *piece.weight->blocks, piece.weight->scales});
      std::optional<RowScales>& scales = shape.block_rows.back().scales;
      if (scales && scales->rows > 1) scales->first_row = piece.slice.outputs.begin % scales->rows;
    }
  }
  if (shape.coded() || in_blocks) shape.first_input = first.slice.inputs.begin;
  shape.order = is_gate(first.weight->part) ? PanelOrder::gate_up : PanelOrder::plain;
  shape.segments = segments_of(first, spec, layout, share);
}

void share_tied(std::vector<Resident>& residents) {
  const auto of_slot = [&](Slot slot) {
    return std::find_if(residents.begin(), residents.end(),
                        [slot](const Resident& each) { return each.slot == slot; });
  };
  const auto table = of_slot(Slot::embedding);
  const auto head = of_slot(Slot::head);
  if (table == residents.end() || head == residents.end()) return;
  // A rank's slice of the vocabulary is the same of both.
  if (!table->blocks || !head->shape.in_blocks()) return;
  if (table->pieces[0].weight != head->pieces[0].weight) return;
  head->same_as = table - residents.begin();
}

}  // namespace

int64_t Resident::elements() const {
  int64_t sum = 0;
  for (const ResidentPiece& piece : pieces) sum += piece.slice.elements();
  return sum;
}

int64_t Resident::bytes() const {
  if (same_as >= 0) return 0;
  return form == Form::packed ? shape.bytes() : payload();
}

int64_t Resident::payload() const {
  if (same_as >= 0) return 0;
  if (blocks) return pieces[0].weight->bytes_of_elements(elements());
  if (form == Form::packed && shape.in_blocks()) return shape.bytes();
  if (form == Form::packed && shape.coded()) {
    const auto groups = static_cast<int64_t>(shape.groups().inputs.size());
    return shape.n * (shape.k() * code_bits(shape.codes) + groups * 16) / 8;
  }
  return elements() * bytes_of(form == Form::packed ? shape.dtype : dtype);
}

std::vector<Resident> resident_weights(const std::vector<Weight>& weights, const ModelSpec& spec,
                                       const Layout& layout, const RankShare& share,
                                       Arithmetic arithmetic) {
  const StoredTypes types(weights);
  std::vector<Resident> residents;
  // (layer, slot, expert, head), and what else keeps weights of a slot apart: rows of a packed
  // matrix are of one length, and what is only planned is not stacked at all
  std::map<std::tuple<int, Slot, int, int, int64_t>, size_t> index;
  const auto add = [&](const Weight& weight, Slot slot, Form form, const WeightSlice& slice) {
    // Biases of all held experts are one vector.
    const int expert = form == Form::vector ? -1 : weight.expert;
    const int64_t apart = slot == Slot::planned_only ? &weight - weights.data()
                          : form == Form::packed     ? weight.shape[1]
                                                     : 0;
    const auto [at, fresh] =
        index.try_emplace({weight.layer, slot, expert, weight.head, apart}, residents.size());
    if (fresh) {
      residents.emplace_back();
      residents.back().slot = slot;
      residents.back().layer = weight.layer;
      residents.back().expert = expert;
      residents.back().head = weight.head;
      residents.back().form = form;
    }
    residents[at->second].pieces.push_back({&weight, slice});
  };
  for (const Weight& weight : weights) {
    const std::optional<WeightSlice> slice = slice_of(weight, spec, layout, share);
    if (!slice) continue;
    if (weight.part == Part::embedding) {
      if (share.first_stage) add(weight, Slot::embedding, Form::table, *slice);
      if (share.last_stage && spec.tied_embeddings) {
        add(weight, Slot::head, Form::packed, *slice);
      }
      continue;
    }
    add(weight, slot_of(weight), rule_of(weight.part).form, *slice);
  }
  for (Resident& resident : residents) {
    std::stable_sort(resident.pieces.begin(), resident.pieces.end(),
                     [](const ResidentPiece& a, const ResidentPiece& b) {
                       return &rule_of(a.weight->part) < &rule_of(b.weight->part);
                     });
    finish(resident, types, spec, layout, share, arithmetic);
  }
  share_tied(residents);
  return residents;
}

}  // namespace dure
