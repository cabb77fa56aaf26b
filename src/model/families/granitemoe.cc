// Granite 3 mixtures: fixed multipliers of the embedding, of attention scores, of what each part
// adds to the stream, and of the logits; chosen weights are a softmax over the chosen logits.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults;
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);
  spec.embedding_scale = config.number_or("embedding_multiplier", 1.0, 1e-6, 1e6);
  spec.residual_scale = config.number_or("residual_multiplier", 1.0, 1e-6, 1e6);
  spec.logit_scale = 1.0 / config.number_or("logits_scaling", 1.0, 1e-6, 1e6);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.scale = config.number_or("attention_multiplier", 1.0, 1e-6, 1e6);

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

const Family granitemoe_family{"granitemoe", read};

}  // namespace dure
