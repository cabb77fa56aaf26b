// Hunyuan-A13B: q and k normalised after rotation, a theta enlarged by alpha; every layer a mixture
// beside a shared part. What the file lists for each layer must be the same for all.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// One integer, or a list that repeats it for each layer.
int64_t same_of_all_layers(ConfigReader& config, std::string_view key, int64_t otherwise,
                           IntRange range, int64_t layers) {
  const auto values = config.integers_of_layers(key, range, layers);
  if (values.empty()) return otherwise;
  for (const int64_t value : values) {
    if (value != values[0]) {
      config.fail(key,
                  fmt::format("{} and {}: layers that differ are not supported", values[0], value));
    }
  }
  return values[0];
}

// What other models of the same code base use.
void refuse_other_kinds(ConfigReader& config) {
  for (const char* key : {"mlp_bias", "use_cla", "use_mla", "position_embedding_xdrope",
                          "moe_drop_tokens", "add_classification_head"}) {
    config.only_flag(key, false);
  }
  config.only_flag("use_rotary_pos_emb", true);
  config.only_flag("norm_topk_prob", true);
  config.only_text("norm_type", "rms");
  config.only_integer("moe_layer_num_skipped", 0);
  config.refuse("sliding_window", "windows are not supported for this family");
  // Settings of the kinds refused above, and of the vision and classification variants.
  config.ignore({"cla_share_factor", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
                 "qk_rope_head_dim", "v_head_dim", "n_group", "topk_group", "group_limited_greedy",
                 "routed_scaling_factor", "moe_random_routing_dropped_token", "capacity_factor",
                 "class_num", "dense_list", "pool_type", "skip_cls_token", "num_media_embeds",
                 "org_vocab_size", "mask_init_id"});
  // Tokens, which matter to the tokenizer.
  config.ignore({"eod_token_id", "pad_id", "sep_id", "im_start_id", "im_end_id", "im_newline_id",
                 "text_start_id", "text_end_id", "image_token_id", "video_start_id",
                 "video_end_id"});
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_heads(config, spec, defaults);
  attention.rope = read_rope(config, attention.head_dim, spec.context, {.alpha = true});
  config.only_integer("attention_head_dim", attention.head_dim);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  // Without these, implementations differ in whether the norms and the shared part are there.
  for (const char* key : {"use_qk_norm", "use_mixed_mlp_moe"}) config.require(key);
  if (config.boolean_or("use_qk_norm", true)) attention.qk_norm = QkNorm::per_head;
  attention.norm_after_rope = true;

  const int64_t width = read_width(config, "intermediate_size");
  constexpr IntRange width_range{1, int64_t{1} << 21};
  MoeFfn moe;
  moe.experts = same_of_all_layers(config, "num_experts", 1, {2, 16384}, layers);
  moe.top_k = same_of_all_layers(config, "moe_topk", 1, {1, moe.experts}, layers);
  check_expert_count(config, "num_experts", moe.experts, layers);
  moe.intermediate =
      same_of_all_layers(config, "moe_intermediate_size", width, width_range, layers);
  moe.activation = read_activation(config);
  moe.router.normalize = true;
  const int64_t shared = same_of_all_layers(config, "num_shared_expert", 1, {1, 64}, layers);
  if (config.boolean_or("use_mixed_mlp_moe", false)) {
    moe.shared = SharedExpert{.intermediate = shared * width};
  }
  refuse_other_kinds(config);

  spec.names = {.q_norm = "query_layernorm",
                .k_norm = "key_layernorm",
                .router = "gate.wg",
                .shared = "shared_mlp"};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, moe});
}

}  // namespace

const Family hunyuan_v1_moe_family{"hunyuan_v1_moe", read};

}  // namespace dure
