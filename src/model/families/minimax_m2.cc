// MiniMax-M2: grouped-query attention with norms over the whole projection and half of each head
// rotated; every layer a mixture with a sigmoid router whose correction decides the choice only.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// rotary_dim says how much of a head turns, and so may partial_rotary_factor.
void read_rotary_dim(ConfigReader& config, GqaSpec& attention) {
  const int64_t dims =
      config.integer_or("rotary_dim", attention.rope.dims, {2, attention.head_dim});
  if (config.has("partial_rotary_factor") && dims != attention.rope.dims) {
    config.fail("rotary_dim", fmt::format("{} contradicts partial_rotary_factor, which makes it {}",
                                          dims, attention.rope.dims));
  }
  if (dims % 2 != 0) config.fail("rotary_dim", fmt::format("{} is odd", dims));
  attention.rope.dims = dims;
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.rope_theta = 5000000.0, .partial_rotary = 1.0};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  read_rotary_dim(config, attention);
  config.only_text("qk_norm_type", "per_layer");
  if (config.boolean_or("use_qk_norm", true)) attention.qk_norm = QkNorm::whole;
  config.only_flag("attention_bias", false);
  config.only_integer("attn_type_list", 1);  // 1: full attention
  config.refuse("sliding_window", "windows are not supported for this family");

  MoeFfn moe =
      read_moe(config, layers, {.experts = "num_local_experts", .width = "intermediate_size"});
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
