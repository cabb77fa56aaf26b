// MiniMax-M2: grouped-query attention with norms over the whole projection and half of each head
// rotated; every layer a mixture with a sigmoid router whose correction decides the choice only.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{
      .rope_theta = 5000000.0, .partial_rotary = 1.0, .head_dim = 128, .kv_heads = 8};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  read_rotary_dim(config, attention);
  config.only_text("qk_norm_type", "per_layer");
  if (config.boolean_or("use_qk_norm", true)) attention.qk_norm = QkNorm::whole;
  config.only_flag("attention_bias", false);
  config.only_integer_of_layers("attn_type_list", 1, layers);  // 1: full attention
  config.refuse("sliding_window", "windows are not supported for this family");

  MoeFfn moe = read_moe(
      config, layers, {.experts = "num_local_experts", .width = "intermediate_size", .chosen = 8});
  config.only_text("scoring_func", "sigmoid");
  moe.router = {.score = RouterScore::sigmoid,
                .correction = config.boolean_or("use_routing_bias", true),
                .normalize = true};
  config.only_integer("shared_intermediate_size", 0);
  config.ignore("router_jitter_noise");  // training only

  const int64_t modules = read_draft_layers(config, "num_mtp_modules");
  config.only_integer("mtp_transformer_layers", 1);
  if (config.boolean_or("use_mtp", false)) spec.draft_layers = modules;

  spec.names = {.moe_block = "block_sparse_moe",
                .correction = "e_score_correction_bias",
                .gate_proj = "w1",
                .up_proj = "w3",
                .down_proj = "w2"};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, moe});
}

}  // namespace

const Family minimax_m2_family{"minimax_m2", read};

}  // namespace dure
