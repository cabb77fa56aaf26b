// Qwen3-Next and Qwen3.5: three layers of gated delta nets, then one of attention whose output is
// gated; mixtures with one shared expert (Qwen3.5 also dense). Norms are stored minus one.
#include <fmt/format.h>

#include <algorithm>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// Where the file is silent. `chosen`: num_experts_per_tok.
struct Silent {
  int64_t kv_heads;
  int64_t chosen = 0;
};

DecoderDefaults defaults_of(const Silent& silent) {
  return {.partial_rotary = 0.25, .head_dim = 256, .kv_heads = silent.kv_heads};
}

DeltaNetSpec read_delta(ConfigReader& config) {
  DeltaNetSpec delta;
  delta.heads = read_head_count(config, "linear_num_value_heads");
  delta.key_heads = read_head_count(config, "linear_num_key_heads");
  delta.key_dim = read_head_dim(config, "linear_key_head_dim");
  delta.value_dim = read_head_dim(config, "linear_value_head_dim");
  delta.conv_width = config.integer_or("linear_conv_kernel_dim", 4, {2, 64});
  if (delta.heads % delta.key_heads != 0) {
    config.fail("linear_num_key_heads", fmt::format("{} does not divide linear_num_value_heads {}",
                                                    delta.key_heads, delta.heads));
  }
  config.ignore("mamba_ssm_dtype");  // states are kept in fp32
  return delta;
}

GqaSpec read_gated_attention(ConfigReader& config, const ModelSpec& spec, const Silent& silent) {
  GqaSpec attention = read_attention(config, spec, defaults_of(silent));
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.qk_norm = QkNorm::per_head;
  config.only_flag("attn_output_gate", true);
  attention.output_gate = true;
  config.only_flag("use_sliding_window", false);
  return attention;
}

// As layer_types says; where it is absent, each full_attention_interval-th layer attends.
std::vector<AttentionSpec> read_mixers(ConfigReader& config, const ModelSpec& spec, int64_t layers,
                                       const Silent& silent) {
  const GqaSpec attention = read_gated_attention(config, spec, silent);
  const DeltaNetSpec delta = read_delta(config);
  const auto types = read_layer_texts(config, "layer_types", layers);
  const int64_t interval = config.integer_or("full_attention_interval", 4, {1, 1024});
  std::vector<AttentionSpec> mixers;
  for (int64_t i = 0; i < layers; ++i) {
    bool attends = (i + 1) % interval == 0;
    if (!types.empty()) {
      const std::string& type = types[static_cast<size_t>(i)];
      if (type != "linear_attention" && type != "full_attention") {
        config.fail("layer_types", fmt::format("\"{:.60}\" is not supported", type),
                    "supported: linear_attention, full_attention");
      }
      if (config.has("full_attention_interval") && attends != (type == "full_attention")) {
        config.fail("full_attention_interval",
                    fmt::format("{} contradicts layer_types at layer {}", interval, i));
      }
      attends = type == "full_attention";
    }
    mixers.push_back(attends ? AttentionSpec{attention} : AttentionSpec{delta});
  }
  return mixers;
}

void read_body(ConfigReader& config, ModelSpec& spec) {
  read_sizes(config, spec, {});
  spec.norms_plus_one = true;
  spec.names.other_parts = {"mtp."};
  spec.draft_layers = read_draft_layers(config, "mtp_num_hidden_layers");
  config.ignore("mtp_use_dedicated_embeddings");
}

void read_mixture(ConfigReader& config, ModelSpec& spec, const Silent& silent) {
  read_body(config, spec);
  const int64_t layers = read_layer_count(config);
  MoeFfn moe = read_moe(config, layers, {.chosen = silent.chosen});
  moe.router.normalize = true;
  moe.shared = SharedExpert{.intermediate = read_width(config, "shared_expert_intermediate_size"),
                            .gated = true};
  const std::vector<bool> sparse = read_sparse_layers(config, layers);
  const bool any_dense = std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  DenseFfn dense;
  if (any_dense || config.has("intermediate_size")) dense = read_dense(config);
  spec.layers = mix_layers(read_mixers(config, spec, layers, silent), sparse, dense, moe);
}

void read_next(ConfigReader& config, ModelSpec& spec) {
  const bool normalize = config.boolean_or("norm_topk_prob", true);
  read_mixture(config, spec, {.kv_heads = 2, .chosen = 10});
  for (LayerSpec& layer : spec.layers) {
    if (auto* moe = std::get_if<MoeFfn>(&layer.ffn)) moe->router.normalize = normalize;
  }
  spec.names.delta_storage = DeltaStorage::grouped;
}

void read_moe_model(ConfigReader& config, ModelSpec& spec) {
  read_mixture(config, spec, {.kv_heads = 2, .chosen = 8});
}

void read_dense_model(ConfigReader& config, ModelSpec& spec) {
  read_body(config, spec);
  const int64_t layers = read_layer_count(config);
  const DenseFfn dense = read_dense(config);
  config.ignore("mlp_only_layers");  // all are
  for (const AttentionSpec& mixer : read_mixers(config, spec, layers, {.kv_heads = 4})) {
    spec.layers.push_back({mixer, dense});
  }
}

}  // namespace

const Family qwen3_next_family{"qwen3_next", read_next};
const Family qwen3_5_family{"qwen3_5_text", read_dense_model};
const Family qwen3_5_moe_family{"qwen3_5_moe_text", read_moe_model};

}  // namespace dure
