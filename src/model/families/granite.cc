// Granite 3, dense and mixtures: fixed multipliers of the embedding, of attention scores, of what
// each part adds to the stream, and of the logits; a mixture's chosen weights are a softmax over
// the chosen logits.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// Everything but the feed-forward part.
GqaSpec read_body(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults;
  read_sizes(config, spec, defaults);
  spec.embedding_scale = config.number_or("embedding_multiplier", 1.0, 1e-6, 1e6);
  spec.residual_scale = config.number_or("residual_multiplier", 1.0, 1e-6, 1e6);
  spec.logit_scale = 1.0 / config.number_or("logits_scaling", 1.0, 1e-6, 1e6);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.scale = config.number_or("attention_multiplier", 1.0, 1e-6, 1e6);
  return attention;
}

void read_dense_layers(ConfigReader& config, ModelSpec& spec) {
  const int64_t layers = read_layer_count(config);
  const GqaSpec attention = read_body(config, spec);
  DenseFfn ffn = read_dense(config);
  ffn.bias = config.boolean_or("mlp_bias", false);
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, ffn});
  spec.planned_only = "Granite without experts has not been held against its release yet";
}

void read_mixture(ConfigReader& config, ModelSpec& spec) {
  const int64_t layers = read_layer_count(config);
  const GqaSpec attention = read_body(config, spec);
  MoeFfn moe = read_moe(
      config, layers, {.experts = "num_local_experts", .width = "intermediate_size", .chosen = 2});
  moe.router.normalize = true;

  spec.names = {.moe_block = "block_sparse_moe",
                .router = "router.layer",
                .experts = ExpertStorage::stacked_out_in,
                .stacked_gate_up = "input_linear.weight",
                .stacked_down = "output_linear.weight"};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, moe});
}

}  // namespace

const Family granite_family{"granite", read_dense_layers};
const Family granitemoe_family{"granitemoe", read_mixture};

}  // namespace dure
