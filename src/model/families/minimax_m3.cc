// MiniMax-M3 (arXiv:2606.13392): grouped-query attention over blocks of keys that an indexer
// chooses, norms of each head stored minus one; dense layers, then mixtures with a shared expert.
#include <fmt/format.h>

#include <algorithm>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// Which layers choose blocks, and how.
struct Sparse {
  BlockIndexerSpec indexer;
  std::vector<int64_t> layers;
};

Sparse read_sparse(ConfigReader& config, int64_t layers) {
  Sparse sparse;
  std::optional<ConfigReader> object = config.object("sparse_attention_config");
  sparse.layers.resize(static_cast<size_t>(layers));
  if (!object || !object->boolean_or("use_sparse_attention", false)) {
    config.ignore("sparse_attention_config");
    return sparse;
  }
  sparse.indexer.heads = read_head_count(*object, "sparse_num_index_heads");
  sparse.indexer.head_dim = read_head_dim(*object, "sparse_index_dim");
  sparse.indexer.block = object->integer("sparse_block_size", {1, 1 << 20});
  sparse.indexer.top_k = object->integer("sparse_topk_blocks", {1, 1 << 20});
  const auto chosen = read_layer_integers(*object, "sparse_attention_freq", layers, {0, 1});
  const auto scores_only =
      read_layer_integers(*object, "sparse_disable_index_value", layers, {0, 1});
  if (!chosen.empty()) sparse.layers = chosen;
  for (size_t i = 0; i < sparse.layers.size(); ++i) {
    if (sparse.layers[i] != 0 && (scores_only.empty() || scores_only[i] == 0)) {
      object->fail("sparse_disable_index_value", "indexers with values are not supported");
    }
  }
  object->only_text("sparse_score_type", "max");
  object->only_integer("sparse_init_block", 0);
  object->only_integer("sparse_local_block", 1);
  object->finish();
  return sparse;
}

GqaSpec read_normed_attention(ConfigReader& config, const ModelSpec& spec,
                              const DecoderDefaults& defaults) {
  GqaSpec attention = read_attention(config, spec, defaults);
  read_rotary_dim(config, attention);
  config.only_text("qk_norm_type", "per_head");
  config.only_flag("use_qk_norm", true);
  attention.qk_norm = QkNorm::per_head;
  config.only_flag("attention_output_gate", false);
  config.only_flag("use_gemma_norm", true);
  return attention;
}

MoeFfn read_mixture(ConfigReader& config, int64_t layers, const ActivationSpec& activation) {
  MoeFfn moe;
  read_expert_count(config, layers, {.experts = "num_local_experts", .chosen = 4}, moe);
  moe.intermediate = read_width(config, "intermediate_size");
  config.only_integer("moe_intermediate_size", moe.intermediate);
  moe.activation = activation;
  config.only_text("scoring_func", "sigmoid");
  moe.router = {.score = RouterScore::sigmoid,
                .correction = config.boolean_or("use_routing_bias", true),
                .normalize = true,
                .scale = config.number_or("routed_scaling_factor", 1.0, 1e-6, 1e6)};
  for (const char* key : {"routed_scaling_factor", "n_shared_experts"}) config.require(key);
  const int64_t shared = config.integer("n_shared_experts", {0, 64});
  const int64_t width =
      config.integer_or("shared_intermediate_size", moe.intermediate, {1, 1 << 21});
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * width};
  return moe;
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.rope_theta = 5000000.0, .partial_rotary = 1.0, .kv_heads = 4};
  read_sizes(config, spec, defaults);
  spec.norms_plus_one = true;
  const int64_t layers = read_layer_count(config);
  GqaSpec attention = read_normed_attention(config, spec, defaults);
  const Sparse sparse = read_sparse(config, layers);

  config.only_text("hidden_act", "swigluoai");
  const ActivationSpec activation{.kind = Activation::clamped_swish,
                                  .alpha = config.number_or("swiglu_alpha", 1.702, 1e-3, 1e3),
                                  .limit = config.number_or("swiglu_limit", 7.0, 1e-3, 1e6)};
  const MoeFfn moe = read_mixture(config, layers, activation);
  const DenseFfn dense{.intermediate = read_width(config, "dense_intermediate_size"),
                       .activation = activation};
  const auto mixtures = read_layer_integers(config, "moe_layer_freq", layers, {0, 1});
  if (mixtures.empty()) config.fail("moe_layer_freq", "missing");
  const int64_t dense_layers = std::count(mixtures.begin(), mixtures.end(), 0);
  config.only_integer("first_k_dense_replace", dense_layers);  // moe_layer_freq says which

  config.ignore("num_nextn_predict_layers");  // num_mtp_modules counts them
  spec.draft_layers = read_draft_layers(config, "num_mtp_modules");
  spec.names = {.moe_block = "block_sparse_moe",
                .correction = "e_score_correction_bias",
                .shared = "shared_experts",
                .gate_proj = "w1",
                .up_proj = "w3",
                .down_proj = "w2"};
  spec.planned_only = "attention over chosen blocks is not run yet";
  for (size_t i = 0; i < mixtures.size(); ++i) {
    attention.block_indexer.reset();
    if (sparse.layers[i] != 0) attention.block_indexer = sparse.indexer;
    spec.layers.push_back({attention, mixtures[i] != 0 ? FfnSpec{moe} : FfnSpec{dense}});
  }
}

}  // namespace

const Family minimax_m3_family{"minimax_m3", read};

}  // namespace dure
