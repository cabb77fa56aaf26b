// Qwen1.5-MoE and Qwen2-57B-A14B (arXiv:2407.10671): Qwen2's attention; mixtures with one shared
// expert, whose output a sigmoid gates.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.kv_heads = 16};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("qkv_bias", true);
  config.ignore("attention_bias");
  // Which layers max_window_layers leaves to the window, implementations do not agree on.
  config.integer_or("max_window_layers", 28, {0, 1 << 20});
  const std::optional<int64_t> window = read_switched_window(config);
  if (window) config.require("layer_types");
  const auto windows = read_windows(config, layers, window, 0);

  const DenseFfn dense = read_dense(config);
  MoeFfn moe = read_moe(config, layers, {.chosen = 4});
  moe.router.normalize = config.boolean_or("norm_topk_prob", false);
  moe.shared = SharedExpert{.intermediate = read_width(config, "shared_expert_intermediate_size"),
                            .gated = true};

  const std::vector<bool> sparse = read_sparse_layers(config, layers);
  for (size_t i = 0; i < sparse.size(); ++i) {
    attention.window = windows[i];
    spec.layers.push_back({attention, sparse[i] ? FfnSpec{moe} : FfnSpec{dense}});
  }
}

}  // namespace

const Family qwen2_moe_family{"qwen2_moe", read};

}  // namespace dure
