// Kimi Linear (arXiv:2510.26692) and the text part of Kimi K3: three layers of delta nets with a
// decay of each channel, then one of latent attention without positions; DeepSeek-V3's mixtures.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/latent_config.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// linear_attn_config: the delta net, and layers by number from 1 on.
struct Mixers {
  DeltaNetSpec delta;
  std::vector<bool> attends;
};

Mixers read_linear(ConfigReader& config, int64_t layers) {
  std::optional<ConfigReader> linear = config.object("linear_attn_config");
  if (!linear) config.fail("linear_attn_config", "missing");
  Mixers mixers;
  DeltaNetSpec& delta = mixers.delta;
  delta.heads = read_head_count(*linear, "num_heads");
  delta.key_heads = delta.heads;
  delta.key_dim = read_head_dim(*linear, "head_dim");
  delta.value_dim = delta.key_dim;
  delta.conv_width = linear->integer_or("short_conv_kernel_size", 4, {2, 64});
  delta.decay_rank = delta.key_dim;
  if (!linear->boolean_or("use_full_rank_gate", false)) delta.gate_rank = delta.value_dim;
  delta.decay_bound = linear->number_or("gate_lower_bound", 0.0, -1e6, 0.0);
  delta.sigmoid_gate = true;

  mixers.attends.resize(static_cast<size_t>(layers));
  const auto full = linear->integers_or_empty("full_attn_layers", {1, layers}, 1024);
  const auto recurrent = linear->integers_or_empty("kda_layers", {1, layers}, 1024);
  std::vector<bool> listed(static_cast<size_t>(layers));
  const auto list = [&](const char* key, const std::vector<int64_t>& numbers, bool attends) {
    for (const int64_t i : numbers) {
      const auto at = static_cast<size_t>(i - 1);
      if (listed[at]) {
        linear->fail(key,
                     fmt::format("layer {} is listed twice{}", i,
                                 mixers.attends[at] == attends ? "" : ": in full_attn_layers too"));
      }
      listed[at] = true;
      mixers.attends[at] = attends;
    }
  };
  list("full_attn_layers", full, true);
  list("kda_layers", recurrent, false);
  if (static_cast<int64_t>(full.size() + recurrent.size()) != layers) {
    linear->fail("kda_layers", fmt::format("{} layers there and {} in full_attn_layers, of {}",
                                           recurrent.size(), full.size(), layers));
  }
  linear->finish();
  return mixers;
}

MlaSpec read_still_attention(ConfigReader& config, const ModelSpec& spec, int64_t layers) {
  config.only_flag("mla_use_nope", true);
  MlaSpec mla = read_latent_attention(config, spec, std::nullopt, layers);
  mla.rope.kind = RopeKind::none;
  mla.output_gate = config.boolean_or("mla_use_output_gate", false);
  return mla;
}

// The keys of DeepSeek's mixtures under other names.
MoeFfn read_mixture(ConfigReader& config, int64_t layers, const ActivationSpec& activation) {
  MoeFfn moe;
  read_expert_count(config, layers, {.top_k = "num_experts_per_token"}, moe);
  moe.intermediate = read_width(config, "moe_intermediate_size");
  moe.activation = activation;
  config.only_text("moe_router_activation_func", "sigmoid");
  config.only_text("topk_method", "noaux_tc");
  config.only_integer("num_expert_group", 1);
  config.only_integer("topk_group", 1);
  config.ignore("use_grouped_topk");  // of one group
  moe.router = {.score = RouterScore::sigmoid,
                .correction = true,
                .normalize = config.boolean_or("moe_renormalize", true),
                .epsilon = 1e-20,
                .scale = config.number_or("routed_scaling_factor", 1.0, 1e-6, 1e6)};
  const int64_t shared = config.integer("num_shared_experts", {0, 1024});
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * moe.intermediate};
  if (config.has("routed_expert_hidden_size")) {
    moe.latent = LatentExperts{.width = read_width(config, "routed_expert_hidden_size"),
                               .norm = config.boolean_or("latent_moe_use_norm", false)};
  }
  return moe;
}

ActivationSpec read_situ_or_silu(ConfigReader& config) {
  const bool situ = config.text_or("hidden_act", "silu") == "situ";
  const double alpha = config.optional_number("activation_situ_beta", 1e-6, 1e6).value_or(4.0);
  const double limit =
      config.optional_number("activation_situ_linear_beta", 1e-6, 1e6).value_or(25.0);
  if (!situ) return read_activation(config);
  return {.kind = Activation::situ, .alpha = alpha, .limit = limit};
}

// What Kimi K3 has beyond Kimi Linear.
std::string not_run_yet(const ModelSpec& spec, const MlaSpec& mla, const MoeFfn& moe) {
  if (spec.residual_block > 0) return "residuals over blocks of layers are not run yet";
  if (moe.activation.kind == Activation::situ) return "the SiTU activation is not run yet";
  if (moe.latent) return "experts in a latent space are not run yet";
  if (mla.output_gate) return "gates of latent attention's output are not run yet";
  return "";
}

void read(ConfigReader& config, ModelSpec& spec) {
  // Implementations differ in what they assume of these.
  for (const char* key : {"rms_norm_eps", "mla_use_nope", "routed_scaling_factor",
                          "num_shared_experts", "first_k_dense_replace"}) {
    config.require(key);
  }
  if (!config.has("max_position_embeddings")) {
    config.spelled("max_position_embeddings", "model_max_length");
  }
  read_sizes(config, spec, {});
  config.only_integer("model_max_length", spec.context);
  const int64_t layers = read_layer_count(config);
  const Mixers mixers = read_linear(config, layers);
  const MlaSpec mla = read_still_attention(config, spec, layers);
  const ActivationSpec activation = read_situ_or_silu(config);
  const MoeFfn moe = read_mixture(config, layers, activation);
  const DenseFfn dense{.intermediate = read_width(config, "intermediate_size"),
                       .activation = activation};
  spec.residual_block = config.optional_integer("attn_res_block_size", {0, layers}).value_or(0);

  spec.names = {.delta_net = "self_attn",
                .delta_storage = DeltaStorage::separate,
                .moe_block = "block_sparse_moe",
                .shared = "shared_experts",
                .gate_proj = "w1",
                .up_proj = "w3",
                .down_proj = "w2",
                .latent_in = "routed_expert_down_proj",
                .latent_out = "routed_expert_up_proj"};
  spec.draft_layers = read_draft_layers(config);
  spec.planned_only = not_run_yet(spec, mla, moe);
  const std::vector<bool> sparse = read_deepseek_sparse_layers(config, layers, 0);
  std::vector<AttentionSpec> attention;
  for (const bool attends : mixers.attends) {
    attention.push_back(attends ? AttentionSpec{mla} : AttentionSpec{mixers.delta});
  }
  spec.layers = mix_layers(attention, sparse, dense, moe);
}

}  // namespace

const Family kimi_linear_family{"kimi_linear", read};

}  // namespace dure
