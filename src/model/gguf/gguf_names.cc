// See gguf_names.h.
#include "model/gguf/gguf_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dure {
namespace {

struct PartName {
  Part part;
  std::string_view name;
  std::string_view of_experts = {};  // where the weight is one of a routed expert's
};

constexpr std::array part_names = {
    PartName{Part::embedding, "token_embd.weight"},
    PartName{Part::lm_head, "output.weight"},
    PartName{Part::final_norm, "output_norm.weight"},
    PartName{Part::attention_norm, "attn_norm.weight"},
    PartName{Part::ffn_norm, "ffn_norm.weight"},
    PartName{Part::after_attention_norm, "post_attention_norm.weight"},
    PartName{Part::after_ffn_norm, "post_ffw_norm.weight"},
    PartName{Part::q, "attn_q.weight"},
    PartName{Part::k, "attn_k.weight"},
    PartName{Part::v, "attn_v.weight"},
    PartName{Part::o, "attn_output.weight"},
    PartName{Part::q_bias, "attn_q.bias"},
    PartName{Part::k_bias, "attn_k.bias"},
    PartName{Part::v_bias, "attn_v.bias"},
    PartName{Part::o_bias, "attn_output.bias"},
    PartName{Part::q_norm, "attn_q_norm.weight"},
    PartName{Part::k_norm, "attn_k_norm.weight"},
    PartName{Part::sinks, "attn_sinks.weight"},
    PartName{Part::q_a, "attn_q_a.weight"},
    PartName{Part::q_a_norm, "attn_q_a_norm.weight"},
    PartName{Part::q_nope, "attn_q_b.weight"},
    PartName{Part::q_rope, "attn_q_b.weight"},
    PartName{Part::kv_a, "attn_kv_a_mqa.weight"},
    PartName{Part::kv_a_norm, "attn_kv_a_norm.weight"},
    PartName{Part::k_up, "attn_k_b.weight"},
    PartName{Part::v_up, "attn_v_b.weight"},
    PartName{Part::gate, "ffn_gate.weight", "ffn_gate_exps.weight"},
    PartName{Part::up, "ffn_up.weight", "ffn_up_exps.weight"},
    PartName{Part::down, "ffn_down.weight", "ffn_down_exps.weight"},
    PartName{Part::gate_bias, "ffn_gate.bias", "ffn_gate_exps.bias"},
    PartName{Part::up_bias, "ffn_up.bias", "ffn_up_exps.bias"},
    PartName{Part::down_bias, "ffn_down.bias"},
    PartName{Part::expert_down_bias, "ffn_down_exps.bias"},
    PartName{Part::router, "ffn_gate_inp.weight"},
    PartName{Part::router_bias, "ffn_gate_inp.bias"},
    PartName{Part::router_correction, "exp_probs_b.bias"},
    PartName{Part::shared_gate, "ffn_gate_shexp.weight"},
    PartName{Part::shared_up, "ffn_up_shexp.weight"},
    PartName{Part::shared_down, "ffn_down_shexp.weight"},
};

class Placer {
 public:
  explicit Placer(const ModelSpec& spec) : spec_(spec), names_(*spec.names.gguf) {}

  void place(Weight& weight) const {
    const std::string name(name_of(weight));
    weight.name = weight.layer < 0 ? name : fmt::format("blk.{}.{}", weight.layer, name);
    if (weight.expert >= 0) {
      const auto& moe = std::get<MoeFfn>(spec_.layers[static_cast<size_t>(weight.layer)].ffn);
      stack(weight, moe.experts, weight.expert);
    } else if (names_.split_kv_b && weight.head >= 0) {
      const auto& mla =
          std::get<MlaSpec>(spec_.layers[static_cast<size_t>(weight.layer)].attention);
      stack(weight, mla.heads, weight.head);
    }
    // Whatever else is stacked or shared in a tensor lies as in the releases' own files.
  }

 private:
  std::string_view name_of(const Weight& weight) const {
    const auto* found =
        std::find_if(part_names.begin(), part_names.end(),
                     [&](const PartName& each) { return each.part == weight.part; });
    DURE_CHECK(found != part_names.end());  // the architectures have no other parts
    if (weight.expert >= 0) return found->of_experts;
    if (weight.head >= 0 && !names_.split_kv_b) return "attn_kv_b.weight";
    if (weight.part == Part::ffn_norm && names_.ffn_norm_after_attention) {
      return "post_attention_norm.weight";
    }
    const bool of_q = weight.part == Part::q_nope || weight.part == Part::q_rope;
    const auto* mla =
        of_q ? &std::get<MlaSpec>(spec_.layers[static_cast<size_t>(weight.layer)].attention)
             : nullptr;
    if (mla != nullptr && !mla->q_rank) return "attn_q.weight";
    return found->name;
  }

  // Matrix, or vector, `index` of `count` in one tensor.
  static void stack(Weight& weight, int64_t count, int64_t index) {
    const int64_t inputs = weight.is_matrix() ? weight.shape[1] : 1;
    weight.tensor_shape = weight.shape;
    weight.tensor_shape.insert(weight.tensor_shape.begin(), count);
    weight.view = {.offset = index * weight.elements(), .row_stride = inputs};
  }

  const ModelSpec& spec_;
  const GgufNames& names_;
};

}  // namespace

void place_in_gguf(const ModelSpec& spec, std::vector<Weight>& weights) {
  const Placer placer(spec);
  for (Weight& weight : weights) placer.place(weight);
}

}  // namespace dure
