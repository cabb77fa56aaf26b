// See inventory.h: the one place that knows which weights a decoder of a given spec has.
#include "model/inventory.h"

#include <fmt/format.h>

namespace dure {
namespace {

class Lister {
 public:
  explicit Lister(const ModelSpec& spec) : spec_(spec) {}

  std::vector<Weight> list() {
    add("model.embed_tokens.weight", Part::embedding, Split::vocabulary,
        {spec_.vocab, spec_.hidden});
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      layer_ = static_cast<int>(i);
      prefix_ = fmt::format("model.layers.{}.", i);
      add_layer(spec_.layers[i]);
    }
    layer_ = -1;
    prefix_.clear();
    add("model.norm.weight", Part::final_norm, Split::replicated, {spec_.hidden});
    if (!spec_.tied_embeddings) {
      add("lm_head.weight", Part::lm_head, Split::vocabulary, {spec_.vocab, spec_.hidden});
    }
    return std::move(weights_);
  }

 private:
  void add(std::string name, Part part, Split split, std::vector<int64_t> shape) {
    weights_.push_back(
        {prefix_ + std::move(name), part, split, layer_, expert_, spec_.dtype, std::move(shape)});
  }

  void add_layer(const LayerSpec& layer) {
    add("input_layernorm.weight", Part::attention_norm, Split::replicated, {spec_.hidden});
    add_attention(std::get<GqaSpec>(layer.attention));
    add("post_attention_layernorm.weight", Part::ffn_norm, Split::replicated, {spec_.hidden});
    if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
      add_dense(*dense);
    } else {
      add_moe(std::get<MoeFfn>(layer.ffn));
    }
  }

  void add_attention(const GqaSpec& attention) {
    const int64_t q = attention.heads * attention.head_dim;
    const int64_t kv = attention.kv_heads * attention.head_dim;
    add("self_attn.q_proj.weight", Part::q, Split::q_heads, {q, spec_.hidden});
    add("self_attn.k_proj.weight", Part::k, Split::kv_heads, {kv, spec_.hidden});
    add("self_attn.v_proj.weight", Part::v, Split::kv_heads, {kv, spec_.hidden});
    add("self_attn.o_proj.weight", Part::o, Split::q_heads_input, {spec_.hidden, q});
    if (attention.qkv_bias) {
      add("self_attn.q_proj.bias", Part::q_bias, Split::q_heads, {q});
      add("self_attn.k_proj.bias", Part::k_bias, Split::kv_heads, {kv});
      add("self_attn.v_proj.bias", Part::v_bias, Split::kv_heads, {kv});
    }
    // Added once, after the partial sums have met, so every rank holds all of it.
    if (attention.o_bias) {
      add("self_attn.o_proj.bias", Part::o_bias, Split::replicated, {spec_.hidden});
    }
    if (attention.qk_norm == QkNorm::none) return;
    const bool whole = attention.qk_norm == QkNorm::whole;
    add("self_attn.q_norm.weight", Part::q_norm, whole ? Split::q_heads : Split::replicated,
        {whole ? q : attention.head_dim});
    add("self_attn.k_norm.weight", Part::k_norm, whole ? Split::kv_heads : Split::replicated,
        {whole ? kv : attention.head_dim});
  }

  void add_dense(const DenseFfn& ffn) {
    add("mlp.gate_proj.weight", Part::gate, Split::columns, {ffn.intermediate, spec_.hidden});
    add("mlp.up_proj.weight", Part::up, Split::columns, {ffn.intermediate, spec_.hidden});
    add("mlp.down_proj.weight", Part::down, Split::rows, {spec_.hidden, ffn.intermediate});
    if (!ffn.bias) return;
    add("mlp.gate_proj.bias", Part::gate_bias, Split::columns, {ffn.intermediate});
    add("mlp.up_proj.bias", Part::up_bias, Split::columns, {ffn.intermediate});
    add("mlp.down_proj.bias", Part::down_bias, Split::replicated, {spec_.hidden});
  }

  void add_moe(const MoeFfn& moe) {
    const WeightNames& names = spec_.names;
    const std::string block = names.moe_block + ".";
    add(block + "gate.weight", Part::router, Split::replicated, {moe.experts, spec_.hidden});
    for (int64_t e = 0; e < moe.experts; ++e) {
      expert_ = static_cast<int>(e);
      const std::string expert = fmt::format("{}experts.{}.", block, e);
      add(expert + names.gate_proj + ".weight", Part::gate, Split::columns,
          {moe.intermediate, spec_.hidden});
      add(expert + names.up_proj + ".weight", Part::up, Split::columns,
          {moe.intermediate, spec_.hidden});
      add(expert + names.down_proj + ".weight", Part::down, Split::rows,
          {spec_.hidden, moe.intermediate});
    }
    expert_ = -1;
    if (!moe.shared) return;
    const std::string shared = block + "shared_expert.";
    const int64_t width = moe.shared->intermediate;
    add(shared + "gate_proj.weight", Part::shared_gate, Split::columns, {width, spec_.hidden});
    add(shared + "up_proj.weight", Part::shared_up, Split::columns, {width, spec_.hidden});
    add(shared + "down_proj.weight", Part::shared_down, Split::rows, {spec_.hidden, width});
    if (moe.shared->gated) {
      add(block + "shared_expert_gate.weight", Part::shared_router, Split::replicated,
          {1, spec_.hidden});
    }
  }

  const ModelSpec& spec_;
  std::vector<Weight> weights_;
  std::string prefix_;
  int layer_ = -1;
  int expert_ = -1;
};

}  // namespace

int64_t Weight::elements() const {
  int64_t product = 1;
  for (int64_t size : shape) product *= size;
  return product;
}

std::vector<Weight> inventory(const ModelSpec& spec) {
  return Lister(spec).list();
}

int64_t total_parameters(const ModelSpec& spec) {
  int64_t sum = 0;
  for (const Weight& weight : inventory(spec)) sum += weight.elements();
  return sum;
}

int64_t active_parameters(const ModelSpec& spec) {
  int64_t active = total_parameters(spec);
  for (const LayerSpec& layer : spec.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
      active -= (moe->experts - moe->top_k) * 3 * moe->intermediate * spec.hidden;
    }
  }
  return active;
}

}  // namespace dure
