// What a config.json that leaves keys out means: the defaults of the configuration class of its
// family, or a refusal by name where implementations do not agree on one. null is not a default.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/config_testing.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gqa;
using ::testing::HasSubstr;
using testing::mla;
using testing::parse;
using testing::windows;

Json without(Json config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) config.erase(key);
  return config;
}

const MoeFfn& last_moe(const ModelSpec& spec) {
  return testing::moe(spec, spec.layers.size() - 1);
}
int dense_layers(const ModelSpec& spec) {
  int count = 0;
  for (const LayerSpec& layer : spec.layers) count += std::holds_alternative<DenseFfn>(layer.ffn);
  return count;
}

// Each key alone is left out of a config that states it as the class has it: nothing may change.
struct Silence {
  const char* name;
  const char* key;
  Json otherwise;  // the default
};

const Silence silences[] = {
    {"llama", "rms_norm_eps", 1e-6},
    {"llama", "rope_theta", 10000.0},
    {"llama", "num_key_value_heads", 4},
    {"mistral", "sliding_window", 4096},
    {"mixtral", "num_experts_per_tok", 2},
    {"mixtral", "rope_theta", 1000000.0},
    {"mixtral", "rms_norm_eps", 1e-5},
    {"qwen3", "head_dim", 128},
    {"qwen3", "rope_theta", 10000.0},
    {"qwen2-moe", "num_experts_per_tok", 4},
    {"qwen2-moe", "norm_topk_prob", false},
    {"qwen3-moe", "num_experts_per_tok", 8},
    {"qwen3-next", "rope_theta", 10000.0},
    {"qwen3-next", "num_experts_per_tok", 10},
    {"qwen3-next", "norm_topk_prob", true},
    {"qwen3-next", "num_key_value_heads", 2},
    {"qwen3-next", "head_dim", 256},
    {"qwen3-5-moe-text", "num_experts_per_tok", 8},
    {"olmoe", "num_experts_per_tok", 8},
    {"granitemoe", "num_experts_per_tok", 2},
    {"deepseek-v3", "n_shared_experts", 1},
    {"deepseek-v3", "routed_scaling_factor", 2.5},
    {"deepseek-v3", "num_experts_per_tok", 8},
    {"deepseek-v3", "norm_topk_prob", true},
    {"deepseek-v3", "q_lora_rank", 1536},
    {"deepseek-v32", "routed_scaling_factor", 2.5},
    {"kimi-k2", "routed_scaling_factor", 2.5},
    {"glm-moe-dsa", "rms_norm_eps", 1e-5},
    {"glm-moe-dsa", "routed_scaling_factor", 2.5},
    {"glm-moe-dsa", "q_lora_rank", 2048},
    {"glm-moe-dsa", "n_group", 1},
    {"glm-moe-dsa", "indexer_rope_interleave", true},
    {"deepseek-v32", "indexer_rope_interleave", false},
    {"glm4-moe", "first_k_dense_replace", 1},
    {"glm4-moe", "n_shared_experts", 1},
    {"glm4-moe", "routed_scaling_factor", 1.0},
    {"glm4-moe", "num_key_value_heads", 8},
    {"deepseek-v2-lite", "first_k_dense_replace", 0},
    {"deepseek-v2-lite", "routed_scaling_factor", 1.0},
    {"deepseek-v4", "routed_scaling_factor", 1.5},
    {"deepseek-v4", "num_experts_per_tok", 6},
    {"ernie4-5-moe", "moe_num_shared_experts", 2},
    {"ernie4-5-moe", "moe_k", 6},
    {"ernie4-5-moe", "rope_theta", 500000.0},
    {"ernie4-5-moe", "num_key_value_heads", 4},
    {"gemma2", "sliding_window", 4096},
    {"gemma2", "query_pre_attn_scalar", 256},
    {"gemma3-text", "sliding_window", 4096},
    {"gpt-oss-bf16", "num_experts_per_tok", 4},
    {"gpt-oss-bf16", "sliding_window", 128},
    {"gpt-oss-bf16", "head_dim", 64},
    {"minimax-m2", "num_experts_per_tok", 8},
    {"minimax-m2", "head_dim", 128},
    {"minimax-m2", "rope_theta", 5000000.0},
    {"mimo-v2-flash", "num_experts_per_tok", 8},
    {"nemotron-h", "n_shared_experts", 1},
    {"nemotron-h", "routed_scaling_factor", 1.0},
    {"phi3-longrope", "original_max_position_embeddings", 4096},
    {"llama4-text", "num_experts_per_tok", 1},
    {"llama4-text", "attention_chunk_size", 8192},
};

// Enough heads and experts for any default of `silences`.
Json roomy(const Silence& silence) {
  Json config = config_of(silence.name);
  for (const char* key :
       {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}) {
    if (config.contains(key)) config[key] = 16;
  }
  for (const char* key : {"n_group", "topk_group"}) {
    if (config.contains(key)) config[key] = 1;
  }
  if (std::string_view(silence.key) == "num_key_value_heads") {
    config["num_attention_heads"] = silence.otherwise;
    config["hidden_size"] = silence.otherwise.get<int64_t>() * 32;
    config["head_dim"] = 32;
  }
  if (std::string_view(silence.key) == "rope_theta") config.erase("rope_parameters");
  return config;
}

TEST(ConfigDefaults, AreThoseOfTheConfigurationClasses) {
  for (const Silence& silence : silences) {
    Json config = roomy(silence);
    config[silence.key] = silence.otherwise;
    const ModelSpec stated = parse(config);
    const ModelSpec silent = parse(without(config, {silence.key}));
    EXPECT_EQ(silent.layers, stated.layers) << silence.name << ": " << silence.key;
    EXPECT_EQ(silent.norm_eps, stated.norm_eps) << silence.name << ": " << silence.key;
  }
}

TEST(ConfigDefaults, KvHeadsOfFamiliesThatAlwaysShareThemAreNotAsManyAsHeads) {
  Json config = config_of("qwen3-moe");
  config["num_attention_heads"] = 8;
  EXPECT_EQ(gqa(parse(without(config, {"num_key_value_heads"}))).kv_heads, 4);
  config["num_key_value_heads"] = nullptr;
  EXPECT_EQ(gqa(parse(config)).kv_heads, 8);
}

TEST(ConfigDefaults, DeepseekV3ChoosesFourOfEightGroups) {
  Json config = without(config_of("deepseek-v3"), {"n_group", "topk_group"});
  config["n_routed_experts"] = 16;
  config["num_experts_per_tok"] = 8;
  EXPECT_EQ(last_moe(parse(config)).router.groups,
            (RouterGroups{.count = 8, .kept = 4, .by_best_two = true}));
  config = without(config_of("glm-moe-dsa"), {"n_group", "topk_group"});
  EXPECT_EQ(last_moe(parse(config)).router.groups, RouterGroups{});
}

TEST(ConfigDefaults, TheFirstThreeLayersOfDeepseekV3AreDense) {
  Json config = without(config_of("deepseek-v3"), {"first_k_dense_replace", "moe_layer_freq"});
  config["num_hidden_layers"] = 5;
  EXPECT_EQ(dense_layers(parse(config)), 3);
}

TEST(ConfigDefaults, GptOssStretchesItsContextAndSeesWindows) {
  const Json config =
      without(config_of("gpt-oss-bf16"), {"rope_scaling", "rope_parameters", "sliding_window",
                                          "layer_types", "initial_context_length"});
  const ModelSpec spec = parse(config);
  EXPECT_THAT(windows(spec), ElementsAre(128, 0, 128, 0));
  const RopeSpec& rope = gqa(spec).rope;
  EXPECT_EQ(rope.kind, RopeKind::yarn);
  EXPECT_EQ(rope.factor, 32.0);
  EXPECT_EQ(rope.original_context, 4096);
  EXPECT_FALSE(rope.truncate);
  EXPECT_EQ(rope.theta, 150000.0);
}

TEST(ConfigDefaults, WindowsThatAreSwitchedOnHaveAWidth) {
  for (const char* name : {"qwen2", "qwen3"}) {
    Json config = without(config_of(name), {"sliding_window", "layer_types"});
    config["use_sliding_window"] = true;
    config["max_window_layers"] = 1;
    config["num_hidden_layers"] = 2;
    EXPECT_THAT(windows(parse(config)), ElementsAre(0, 4096)) << name;
    config["sliding_window"] = nullptr;
    EXPECT_THAT(windows(parse(config)), ElementsAre(0, 0)) << name;
  }
  Json config = without(config_of("qwen2-moe"), {"layer_types"});
  config["use_sliding_window"] = true;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "layer_types");
}

TEST(ConfigDefaults, QueriesWithoutARankAreOnlyUncompressedIfNullSaysSo) {
  Json config = config_of("deepseek-v2-lite");
  EXPECT_FALSE(mla(parse(config)).q_rank);
  EXPECT_EQ(mla(parse(without(config, {"q_lora_rank"}))).q_rank, 1536);
}

struct Ambiguity {
  const char* name;
  const char* key;
};

TEST(ConfigDefaults, RefuseWhereImplementationsDisagree) {
  const Ambiguity ambiguities[] = {
      {"deepseek-v2-lite", "n_shared_experts"},
      {"deepseek-v2-group", "n_group"},
      {"deepseek-v2-group", "topk_group"},
      {"kimi-linear", "rms_norm_eps"},
      {"kimi-linear", "mla_use_nope"},
      {"kimi-linear", "routed_scaling_factor"},
      {"kimi-linear", "num_shared_experts"},
      {"kimi-linear", "first_k_dense_replace"},
      {"mimo-v2-flash", "add_swa_attention_sink_bias"},
      {"mimo-v2-flash", "partial_rotary_factor"},
      {"mimo-v2-flash", "attention_value_scale"},
      {"minimax-m2", "rotary_dim"},
      {"hunyuan-v1-moe", "use_mixed_mlp_moe"},
      {"hunyuan-v1-moe", "use_qk_norm"},
  };
  for (const auto& [name, key] : ambiguities) {
    ASSERT_TRUE(config_of(name).contains(key)) << name << ": " << key;
    const Error error =
        error_of([&, name = name, key = key] { parse(without(config_of(name), {key})); });
    EXPECT_EQ(error.field(), key) << name;
    EXPECT_THAT(error.message(), HasSubstr("missing")) << name;
  }
  Json config = config_of("qwen3-vl-moe");
  config["text_config"].erase("rope_theta");
  config["text_config"].erase("rope_parameters");
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "text_config.rope_theta");
}

TEST(ConfigDefaults, DoNotStandForNull) {
  const Ambiguity nulls[] = {
      {"llama", "rms_norm_eps"},
      {"llama", "rope_theta"},
      {"gemma2", "sliding_window"},
      {"gemma2", "query_pre_attn_scalar"},
      {"gemma3-text", "sliding_window"},
      {"gpt-oss-bf16", "rope_scaling"},
      {"gpt-oss-bf16", "sliding_window"},
      {"qwen3", "head_dim"},
      {"deepseek-v3", "n_group"},
      {"deepseek-v3", "num_experts_per_tok"},
      {"deepseek-v3", "scoring_func"},
      {"qwen2-moe", "decoder_sparse_step"},
      {"llama", "hidden_act"},
  };
  for (const auto& [name, key] : nulls) {
    Json config = config_of(name);
    config[key] = nullptr;
    EXPECT_EQ(error_of([&] { parse(config); }).field(), key) << name;
  }
  Json config = config_of("deepseek-v3");
  config["norm_topk_prob"] = nullptr;  // of a flag it is false
  EXPECT_FALSE(last_moe(parse(config)).router.normalize);
}

}  // namespace
}  // namespace dure
