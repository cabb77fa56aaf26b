// The text part of Gemma 4: windowed layers and full ones with heads of their own, of which the
// full ones' values may be their keys; a dense part beside the experts of mixtures; each layer's
// output times a stored number.
#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

struct Kinds {
  GqaSpec windowed;
  GqaSpec full;
};

// rope_parameters has an object for each kind of layer.
void read_ropes(ConfigReader& config, int64_t context, Kinds& kinds) {
  std::optional<ConfigReader> ropes = config.object("rope_parameters");
  kinds.windowed.rope.dims = kinds.windowed.head_dim;
  kinds.full.rope = {.kind = RopeKind::proportional,
                     .dims = kinds.full.head_dim,
                     .theta = 1000000.0,
                     .turning = kinds.full.head_dim / 8};
  if (!ropes) return;
  if (auto object = ropes->object("sliding_attention")) {
    kinds.windowed.rope = read_rope_object(*object, kinds.windowed.head_dim, context,
                                           {.theta = 10000.0, .partial = 1.0});
  }
  if (auto object = ropes->object("full_attention")) {
    kinds.full.rope = read_rope_object(*object, kinds.full.head_dim, context,
                                       {.theta = 1000000.0, .partial = 1.0});
  }
  ropes->finish();
}

Kinds read_kinds(ConfigReader& config, const ModelSpec& spec, const DecoderDefaults& defaults) {
  GqaSpec attention = read_heads(config, spec, defaults);
  attention.qk_norm = QkNorm::per_head;
  attention.v_norm = true;
  attention.scale = 1.0;  // q and k are normalised
  config.only_flag("attention_bias", false);
  Kinds kinds{.windowed = attention, .full = attention};
  kinds.windowed.window = config.integer_or("sliding_window", 512, {1, int64_t{1} << 30});
  kinds.full.head_dim = config.integer_or("global_head_dim", 512, {2, 4096});
  kinds.full.v_head_dim = kinds.full.head_dim;
  kinds.full.values_are_keys = config.boolean_or("attention_k_eq_v", false);
  const int64_t own = config.optional_integer("num_global_key_value_heads", {1, attention.heads})
                          .value_or(attention.kv_heads);
  if (kinds.full.values_are_keys) kinds.full.kv_heads = own;
  if (attention.heads % kinds.full.kv_heads != 0) {
    config.fail("num_global_key_value_heads",
                fmt::format("{} does not divide {} heads", own, attention.heads));
  }
  const std::string bidirectional = config.optional_text("use_bidirectional_attention");
  if (!bidirectional.empty() && bidirectional != "vision") {
    config.fail("use_bidirectional_attention", "text is seen from one side only",
                "supported: vision, whose tokens are not read");
  }
  read_ropes(config, spec.context, kinds);
  return kinds;
}

FfnSpec read_ffn(ConfigReader& config, int64_t layers, const DecoderDefaults& defaults) {
  const DenseFfn dense{
      .intermediate = read_width_or(config, "intermediate_size", defaults.intermediate),
      .activation = read_activation(config, "hidden_activation", "gelu_pytorch_tanh")};
  if (!config.boolean_or("enable_moe_block", false)) {
    config.ignore(
        {"num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"});
    return dense;
  }
  MoeFfn moe;
  read_expert_count(config, layers, {.top_k = "top_k_experts"}, moe);
  moe.intermediate = read_width(config, "moe_intermediate_size");
  config.only_integer("expert_intermediate_size", moe.intermediate);
  moe.activation = dense.activation;
  moe.router = {.normalize = true, .input_norm = true, .expert_scale = true};
  moe.beside = dense;
  return moe;
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.head_dim = 256,
                                 .hidden = 2304,
                                 .vocab = 262144,
                                 .context = 131072,
                                 .layers = 30,
                                 .heads = 8,
                                 .kv_heads = 4,
                                 .intermediate = 9216,
                                 .tied = true};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config, defaults);
  const Kinds kinds = read_kinds(config, spec, defaults);
  const FfnSpec ffn = read_ffn(config, layers, defaults);
  spec.norms_after = true;
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  spec.logit_softcap = config.optional_number("final_logit_softcapping", 0.0, 1e6).value_or(0.0);
  if (config.integer_or("hidden_size_per_layer_input", 256, {0, 1 << 20}) != 0) {
    config.fail("hidden_size_per_layer_input", "embeddings of each layer are not supported");
  }
  config.ignore("vocab_size_per_layer_input");
  config.only_integer("num_kv_shared_layers", 0);
  config.only_flag("use_double_wide_mlp", false);

  spec.names = {.after_attention_norm = "post_attention_layernorm",
                .ffn_norm = "pre_feedforward_layernorm",
                .after_ffn_norm = "post_feedforward_layernorm",
                .moe_block = "",
                .router = "router.proj",
                .experts = ExpertStorage::stacked_out_in};
  for (const auto& window : read_window_pattern(config, layers, kinds.windowed.window, 6)) {
    spec.layers.push_back({window ? kinds.windowed : kinds.full, ffn, true});
  }
}

}  // namespace

const Family gemma4_family{"gemma4_text", read};

}  // namespace dure
