// gpt-oss (arXiv:2508.10925): biases everywhere, attention sinks, every other layer windowed; every
// layer a mixture whose chosen weights are a softmax over the chosen logits, with a clamped swish.
#include <nlohmann/json.hpp>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

constexpr double swish_alpha = 1.702;

// Where the file is silent, contexts are stretched as those of the releases.
RopeSpec read_stretched_rope(ConfigReader& config, int64_t head_dim, int64_t context) {
  const RopeDefaults defaults{.theta = 150000.0};
  RopeSpec rope;
  if (config.mentions("rope_scaling") || config.mentions("rope_parameters")) {
    if (!config.has("rope_parameters")) config.require("rope_scaling");  // null is read both ways
    rope = read_rope(config, head_dim, context, defaults);
  } else {
    const RopeSpec plain = read_rope(config, head_dim, context, defaults);
    const Json released = {{"rope_type", "yarn"},
                           {"rope_theta", plain.theta},
                           {"factor", 32.0},
                           {"original_max_position_embeddings", 4096},
                           {"truncate", false}};
    ConfigReader object(released, config.what(), "rope_scaling");
    rope = read_rope_object(object, head_dim, context, defaults);
  }
  if (rope.kind == RopeKind::yarn) {
    config.only_integer("initial_context_length", rope.original_context);
  }
  config.ignore("initial_context_length");
  return rope;
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5, .head_dim = 64, .kv_heads = 8};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_heads(config, spec, defaults);
  attention.rope = read_stretched_rope(config, attention.head_dim, spec.context);
  attention.qkv_bias = config.boolean_or("attention_bias", true);
  attention.o_bias = attention.qkv_bias;
  attention.sinks = true;
  const int64_t window = config.integer_or("sliding_window", 128, {1, int64_t{1} << 30});
  const auto windows = read_window_pattern(config, layers, window, 2);

  MoeFfn moe = read_moe(
      config, layers, {.experts = "num_local_experts", .width = "intermediate_size", .chosen = 4});
  config.only_integer("experts_per_token", moe.top_k);
  config.only_text("hidden_act", "silu");
  moe.activation = {.kind = Activation::clamped_swish,
                    .alpha = config.number_or("swiglu_alpha", swish_alpha, 1e-3, 1e3),
                    .limit = config.number_or("swiglu_limit", 7.0, 1e-3, 1e6)};
  moe.bias = true;
  moe.router = {.bias = true, .normalize = true};

  spec.names = {.router = "router", .experts = ExpertStorage::interleaved_in_out};
  for (const auto& each : windows) {
    attention.window = each;
    spec.layers.push_back({attention, moe});
  }
}

}  // namespace

const Family gpt_oss_family{"gpt_oss", read};

}  // namespace dure
