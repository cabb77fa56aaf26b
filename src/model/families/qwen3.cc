// Qwen3 dense (arXiv:2505.09388): q and k of each head are normalised; no bias.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read_with(ConfigReader& config, ModelSpec& spec, std::optional<double> theta) {
  const DecoderDefaults defaults{.rope_theta = theta, .head_dim = 128, .kv_heads = 32};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.qk_norm = QkNorm::per_head;
  const auto windows = read_upper_windows(config, layers);

  const DenseFfn ffn = read_dense(config);
  config.only_flag("mlp_bias", false);
  for (const auto& each : windows) {
    attention.window = each;
    spec.layers.push_back({attention, ffn});
  }
}

void read(ConfigReader& config, ModelSpec& spec) {
  read_with(config, spec, 10000.0);
}

// The text part of Qwen3-VL, of whose theta implementations assume different ones.
void read_vl(ConfigReader& config, ModelSpec& spec) {
  read_with(config, spec, std::nullopt);
}

}  // namespace

const Family qwen3_family{"qwen3", read};
const Family qwen3_vl_family{"qwen3_vl_text", read_vl};

}  // namespace dure
