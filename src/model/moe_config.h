// Mixtures of experts as config.json states them, and the two groups of families that agree on how.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

// The keys under which a family keeps what all mixtures have.
struct MoeKeys {
  const char* experts = "num_experts";
  const char* width = "moe_intermediate_size";  // of one expert
  const char* top_k = "num_experts_per_tok";
  std::optional<int64_t> chosen = std::nullopt;  // top_k where it is absent; otherwise required
};

// Experts, top_k, their width and hidden_act. `layers`: of the whole model.
MoeFfn read_moe(ConfigReader& config, int64_t layers, const MoeKeys& keys = {});
// The first two of these alone.
void read_expert_count(ConfigReader& config, int64_t layers, const MoeKeys& keys, MoeFfn& moe);
// Throws bad_input if so many experts in every layer are more than a list should hold.
void check_expert_count(const ConfigReader& config, std::string_view key, int64_t experts,
                        int64_t layers);

// The Qwen mixtures: which layers are mixtures (mlp_only_layers, decoder_sparse_step).
std::vector<bool> read_sparse_layers(ConfigReader& config, int64_t layers);

// DeepSeek's mixtures and their heirs': scoring_func, topk_method, n_group, topk_group,
// norm_topk_prob, routed_scaling_factor, n_shared_experts.
struct RoutingDefaults {
  const char* scoring_func = "sigmoid";
  const char* topk_method = "noaux_tc";
  bool normalize = true;
  double scale = 1.0;
  int64_t groups = 1;
  int64_t kept_groups = 1;
  std::optional<int64_t> chosen = 8;  // num_experts_per_tok
  std::optional<int64_t> shared = 1;  // n_shared_experts; otherwise required
  int64_t dense = 3;                  // first_k_dense_replace
};
MoeFfn read_deepseek_moe(ConfigReader& config, int64_t layers, const RoutingDefaults& defaults);
// All of these but the shared experts. `moe`: its experts and top_k.
RouterSpec read_routing(ConfigReader& config, const MoeFfn& moe, const RoutingDefaults& defaults);

// first_k_dense_replace (absent: `dense`) with moe_layer_freq: which layers are mixtures.
std::vector<bool> read_deepseek_sparse_layers(ConfigReader& config, int64_t layers, int64_t dense);

// Layers of `moe` where `sparse`, of `dense` elsewhere; all with the attention of its place.
std::vector<LayerSpec> mix_layers(const std::vector<AttentionSpec>& attention,
                                  const std::vector<bool>& sparse, const DenseFfn& dense,
                                  const MoeFfn& moe);

}  // namespace dure
