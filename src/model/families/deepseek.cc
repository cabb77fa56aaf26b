// DeepSeek-V2 and V2-Lite (arXiv:2405.04434), DeepSeek-V3 and R1 (arXiv:2412.19437), Kimi K2
// (arXiv:2507.20534): latent attention, one or more dense layers, then fine-grained mixtures with
// shared experts.
#include "model/families/deepseek.h"

#include "model/families/family.h"

namespace dure {
namespace {

void read_v2(ConfigReader& config, ModelSpec& spec) {
  // Implementations differ in what a normalised choice is scaled by; no release has one.
  config.only_flag("norm_topk_prob", false);
  if (config.optional_text("topk_method") == "group_limited_greedy") {
    config.require("n_group");
    config.require("topk_group");
  }
  // Implementations differ in how many shared experts they assume.
  read_deepseek(config, spec,
                {.routing = {.scoring_func = "softmax",
                             .topk_method = "greedy",
                             .normalize = false,
                             .chosen = std::nullopt,
                             .shared = std::nullopt,
                             .dense = 0}});
}

void read_v3(ConfigReader& config, ModelSpec& spec) {
  read_deepseek(config, spec, {});
}

}  // namespace

WeightNames deepseek_names() {
  return {.shared = "shared_experts"};
}

void read_deepseek(ConfigReader& config, ModelSpec& spec, const DeepseekDefaults& defaults) {
  read_sizes(config, spec, {.norm_eps = defaults.norm_eps});
  const int64_t layers = read_layer_count(config);
  const MlaSpec mla = read_latent_attention(config, spec, defaults.q_rank, layers);
  const MoeFfn moe = read_deepseek_moe(config, layers, defaults.routing);
  const DenseFfn dense = read_dense(config);
  config.only_flag("mlp_bias", false);

  spec.names = deepseek_names();
  spec.layers =
      mix_layers(std::vector<AttentionSpec>(static_cast<size_t>(layers), mla),
                 read_deepseek_sparse_layers(config, layers, defaults.routing.dense), dense, moe);
  spec.draft_layers = read_draft_layers(config);
}

const Family deepseek_v2_family{"deepseek_v2", read_v2};
const Family deepseek_v3_family{"deepseek_v3", read_v3};
const Family kimi_k2_family{"kimi_k2", read_v3};

}  // namespace dure
