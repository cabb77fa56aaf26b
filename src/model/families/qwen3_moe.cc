// Qwen3 mixtures (arXiv:2505.09388): Qwen3's attention, many small experts, no shared one.
#include <algorithm>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read_with(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults,
               int64_t chosen) {
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.qk_norm = QkNorm::per_head;
  config.only_flag("qkv_bias", false);
  config.only_flag("use_qk_norm", true);
  // The window, where switched on, is of every layer: max_window_layers is a leftover.
  config.ignore("max_window_layers");
  const auto windows = read_windows(config, layers, read_switched_window(config), 0);

  const std::vector<bool> sparse = read_sparse_layers(config, layers);
  DenseFfn dense;
  const bool any_dense = std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  if (any_dense || config.has("intermediate_size")) {
    dense = read_dense(config);
  }
  MoeFfn moe = read_moe(config, layers, {.chosen = chosen});
  moe.router.normalize = config.boolean_or("norm_topk_prob", false);
  if (config.optional_integer("shared_expert_intermediate_size", {0, 1 << 21}).value_or(0) != 0) {
    config.fail("shared_expert_intermediate_size", "this family has no shared expert");
  }

  for (size_t i = 0; i < sparse.size(); ++i) {
    attention.window = windows[i];
    spec.layers.push_back({attention, sparse[i] ? FfnSpec{moe} : FfnSpec{dense}});
  }
}

void read(ConfigReader& config, ModelSpec& spec) {
  read_with(config, spec, {.kv_heads = 4}, 8);
}

// The text part of Qwen3-VL mixtures (arXiv:2511.21631): always normalised weights, experts in one
// tensor. Implementations differ in the theta that they assume.
void read_vl(ConfigReader& config, ModelSpec& spec) {
  config.only_flag("norm_topk_prob", true);
  read_with(config, spec, {.rope_theta = std::nullopt, .kv_heads = 16}, 4);
  for (LayerSpec& layer : spec.layers) {
    if (auto* moe = std::get_if<MoeFfn>(&layer.ffn)) moe->router.normalize = true;
  }
  spec.names.experts = ExpertStorage::stacked_in_out;
}

}  // namespace

const Family qwen3_moe_family{"qwen3_moe", read};
const Family qwen3_vl_moe_family{"qwen3_vl_moe_text", read_vl};

}  // namespace dure
