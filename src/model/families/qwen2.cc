// Qwen2 and Qwen2.5 (arXiv:2407.10671): q, k and v always have a bias, o never, whatever
// attention_bias says; upper layers may see a window.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.kv_heads = 32};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = true;
  config.ignore("attention_bias");
  const auto windows = read_upper_windows(config, layers);

  const DenseFfn ffn = read_dense(config);
  config.only_flag("mlp_bias", false);
  config.ignore("use_mrope");
  for (const auto& each : windows) {
    attention.window = each;
    spec.layers.push_back({attention, ffn});
  }
}

// MiMo-7B (arXiv:2505.07608): Qwen2 with layers after the last that draft tokens.
void read_mimo(ConfigReader& config, ModelSpec& spec) {
  read(config, spec);
  spec.draft_layers = read_draft_layers(config);
  spec.names.other_parts = {"model.mtp_layers."};
}

}  // namespace

const Family qwen2_family{"qwen2", read};
const Family mimo_family{"mimo", read_mimo};

}  // namespace dure
