// Mixtral (Jiang et al. 2024, arXiv:2401.04088): Mistral's attention, every layer a mixture whose
// chosen weights are a softmax over the chosen logits, which is a softmax over all, normalised.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5, .rope_theta = 1e6, .kv_heads = 8};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  config.only_flag("attention_bias", false);
  if (config.has("sliding_window")) {
    attention.window = config.integer("sliding_window", {1, int64_t{1} << 30});
  }

  MoeFfn moe = read_moe(
      config, layers, {.experts = "num_local_experts", .width = "intermediate_size", .chosen = 2});
  moe.router.normalize = true;
  config.ignore("router_jitter_noise");  // training only

  spec.names = {
      .moe_block = "block_sparse_moe", .gate_proj = "w1", .up_proj = "w3", .down_proj = "w2"};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, moe});
}

}  // namespace

const Family mixtral_family{"mixtral", read};

}  // namespace dure
