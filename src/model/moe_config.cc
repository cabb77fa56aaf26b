// See moe_config.h.
#include "model/moe_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/decoder_config.h"

namespace dure {
namespace {

constexpr IntRange expert_range{1, 16384};
constexpr IntRange layer_range{1, 1024};
constexpr int64_t most_experts_of_all_layers = 131072;

}  // namespace

void check_expert_count(const ConfigReader& config, std::string_view key, int64_t experts,
                        int64_t layers) {
  if (experts * layers <= most_experts_of_all_layers) return;
  config.fail(key, fmt::format("{} in each of {} layers: more than {} experts in all", experts,
                               layers, most_experts_of_all_layers));
}

void read_expert_count(ConfigReader& config, int64_t layers, const MoeKeys& keys, MoeFfn& moe) {
  moe.experts = config.integer(keys.experts, expert_range);
  check_expert_count(config, keys.experts, moe.experts, layers);
  const IntRange chosen{1, moe.experts};
  moe.top_k = keys.chosen ? config.integer_or(keys.top_k, *keys.chosen, chosen)
                          : config.integer(keys.top_k, chosen);
  if (moe.top_k > moe.experts) {
    config.fail(keys.top_k,
                fmt::format("absent, which is {}, of {} experts", moe.top_k, moe.experts));
  }
}

MoeFfn read_moe(ConfigReader& config, int64_t layers, const MoeKeys& keys) {
  MoeFfn moe;
  read_expert_count(config, layers, keys, moe);
  moe.intermediate = read_width(config, keys.width);
  moe.activation = read_activation(config);
  return moe;
}

std::vector<bool> read_sparse_layers(ConfigReader& config, int64_t layers) {
  const int64_t step = config.integer_or("decoder_sparse_step", 1, layer_range);
  std::vector<bool> sparse(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) sparse[static_cast<size_t>(i)] = (i + 1) % step == 0;
  const auto dense = config.integers_or_empty("mlp_only_layers", {0, layers - 1},
                                              static_cast<size_t>(layer_range.most));
  for (int64_t i : dense) {
    if (std::count(dense.begin(), dense.end(), i) > 1) {
      config.fail("mlp_only_layers", fmt::format("layer {} is listed twice", i));
    }
    sparse[static_cast<size_t>(i)] = false;
  }
  return sparse;
}

// group_limited_greedy keeps the groups of the best experts (DeepSeek-V2), noaux_tc those whose two
// best are best together, of scores with the correction added (DeepSeek-V3).
RouterSpec read_routing(ConfigReader& config, const MoeFfn& moe, const RoutingDefaults& defaults) {
  RouterSpec router;
  router.score = config.one_of("scoring_func", defaults.scoring_func, {"softmax", "sigmoid"}) == 0
                     ? RouterScore::softmax
                     : RouterScore::sigmoid;
  const size_t method = config.one_of("topk_method", defaults.topk_method,
                                      {"greedy", "group_limited_greedy", "noaux_tc"});
  router.correction = method == 2;
  router.normalize = config.boolean_or("norm_topk_prob", defaults.normalize);
  router.epsilon = 1e-20;
  const double unstated = config.mentions("routed_scaling_factor") ? 1.0 : defaults.scale;
  router.scale = config.optional_number("routed_scaling_factor", 1e-6, 1e6).value_or(unstated);
  if (method == 0) {  // one group, whatever is stated
    for (const char* key : {"n_group", "topk_group"})
      config.optional_integer(key, {1, moe.experts});
    return router;
  }
  const int64_t groups = config.integer_or("n_group", defaults.groups, {1, moe.experts});
  const int64_t kept = config.integer_or("topk_group", defaults.kept_groups, {1, groups});
  if (kept > groups) config.fail("topk_group", fmt::format("{} of {} groups", kept, groups));
  if (moe.experts % groups != 0) {
    config.fail("n_group", fmt::format("{} groups of {} experts", groups, moe.experts));
  }
  if (groups == 1) return router;
  router.groups = {.count = groups, .kept = kept, .by_best_two = method == 2};
  const int64_t in_group = moe.experts / groups;
  if (moe.top_k > kept * in_group) {
    config.fail("topk_group", fmt::format("{} groups of {} experts, of which {} are to be chosen",
                                          kept, in_group, moe.top_k));
  }
  if (router.groups.by_best_two && in_group < 2) {
    config.fail("n_group", "groups of one expert have no two best");
  }
  return router;
}

MoeFfn read_deepseek_moe(ConfigReader& config, int64_t layers, const RoutingDefaults& defaults) {
  MoeFfn moe = read_moe(config, layers, {.experts = "n_routed_experts", .chosen = defaults.chosen});
  moe.router = read_routing(config, moe, defaults);
  if (!defaults.shared && !config.mentions("n_shared_experts")) config.require("n_shared_experts");
  const int64_t otherwise = config.mentions("n_shared_experts") ? 0 : defaults.shared.value_or(0);
  const int64_t shared = config.optional_integer("n_shared_experts", {0, 1024}).value_or(otherwise);
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * moe.intermediate};
  config.ignore({"aux_loss_alpha", "seq_aux"});  // training only
  config.ignore("ep_size");                      // of the run that trained
  config.ignore("moe_router_dtype");             // routers are computed in fp32 here
  return moe;
}

std::vector<bool> read_deepseek_sparse_layers(ConfigReader& config, int64_t layers, int64_t dense) {
  dense = config.integer_or("first_k_dense_replace", dense, {0, layers});
  const int64_t step = config.integer_or("moe_layer_freq", 1, layer_range);
  std::vector<bool> sparse(static_cast<size_t>(layers));
  for (int64_t i = dense; i < layers; ++i) sparse[static_cast<size_t>(i)] = i % step == 0;
  return sparse;
}

std::vector<LayerSpec> mix_layers(const std::vector<AttentionSpec>& attention,
                                  const std::vector<bool>& sparse, const DenseFfn& dense,
                                  const MoeFfn& moe) {
  std::vector<LayerSpec> layers;
  for (size_t i = 0; i < sparse.size(); ++i) {
    layers.push_back({attention[i], sparse[i] ? FfnSpec{moe} : FfnSpec{dense}});
  }
  return layers;
}

}  // namespace dure
