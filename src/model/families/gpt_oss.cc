// gpt-oss (arXiv:2508.10925): biases everywhere, attention sinks, every other layer windowed; every
// layer a mixture whose chosen weights are a softmax over the chosen logits, with a clamped swish.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

constexpr double swish_alpha = 1.702;

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5, .rope_theta = 150000.0, .head_dim = 64};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", true);
  attention.o_bias = attention.qkv_bias;
  attention.sinks = true;
  const auto windows = read_window_pattern(config, layers, read_window(config), 2);
  config.ignore("initial_context_length");  // what the rotary settings call the original context

  MoeFfn moe =
      read_moe(config, layers, {.experts = "num_local_experts", .width = "intermediate_size"});
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
