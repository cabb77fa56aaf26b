// Configs that say one thing twice, or list layers that are not there: refused by the key's name.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/config_testing.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::parse;

// A small config in the form of a released one, with these keys changed.
struct Case {
  const char* name;
  Json changes;
  const char* field;
};

void expect_refused(const Case& each) {
  Json config = config_of(each.name);
  config.merge_patch(each.changes);
  const Error error = error_of([&] { parse(config); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input) << each.name << each.changes;
  EXPECT_EQ(error.field(), each.field) << each.name << each.changes << error.message();
}

TEST(ConfigContradictions, BetweenTwoKeysOfOneMeaningAreRefused) {
  const Case cases[] = {
      {"nemotron-h",
       {{"layers_block_type",
         {"mamba", "moe", "mamba", "attention", "moe", "mamba", "mlp", "mlp"}}},
       "hybrid_override_pattern"},
      {"qwen3-next",
       {{"full_attention_interval", 2},
        {"layer_types",
         {"linear_attention", "linear_attention", "linear_attention", "full_attention"}}},
       "full_attention_interval"},
      {"llama4-text",
       {{"no_rope_layers", {1, 1, 1, 1}}, {"no_rope_layer_interval", 4}},
       "no_rope_layer_interval"},
      {"llama4-text", {{"moe_layers", {0}}, {"interleave_moe_layer_step", 2}}, "moe_layers"},
      {"gpt-oss-bf16", {{"initial_context_length", 77}}, "initial_context_length"},
      {"gemma3-text",
       {{"sliding_window_pattern", 2}, {"_sliding_window_pattern", 3}},
       "_sliding_window_pattern"},
      {"gemma3-text-newcfg", {{"rope_theta", 77.0}}, "rope_theta"},
      {"gemma3-text-newcfg", {{"rope_local_base_freq", 77.0}}, "rope_local_base_freq"},
      {"glm-moe-dsa-shared-index", {{"index_topk_freq", 1}}, "indexer_types"},
      {"kimi-linear", {{"max_position_embeddings", 64}}, "model_max_length"},
      {"minimax-m2", {{"partial_rotary_factor", 0.25}}, "rotary_dim"},
      {"phi3-longrope",
       {{"rope_scaling", {{"original_max_position_embeddings", 32}}}},
       "rope_scaling.original_max_position_embeddings"},
      {"qwen3",
       {{"use_sliding_window", true},
        {"sliding_window", 8},
        {"max_window_layers", 0},
        {"num_hidden_layers", 2},
        {"layer_types", {"full_attention", "sliding_attention"}}},
       "max_window_layers"},
  };
  for (const Case& each : cases) expect_refused(each);
}

TEST(ConfigContradictions, ListsOfLayersHaveAnEntryForEach) {
  const Case cases[] = {
      {"glm-moe-dsa", {{"layer_types", {"deepseek_sparse_attention"}}}, "layer_types"},
      {"glm-moe-dsa",
       {{"layer_types", Json(std::vector<std::string>(9, "deepseek_sparse_attention"))}},
       "layer_types"},
      {"minimax-m2", {{"attn_type_list", {1}}}, "attn_type_list"},
      {"minimax-m2", {{"attn_type_list", Json::array()}}, "attn_type_list"},
      {"hunyuan-v1-moe", {{"num_experts", {8}}}, "num_experts"},
      {"hunyuan-v1-moe",
       {{"moe_intermediate_size", Json(std::vector<int>(7, 64))}},
       "moe_intermediate_size"},
      {"qwen3", {{"layer_types", Json::array()}}, "layer_types"},
      {"mimo-v2-flash", {{"moe_layer_freq", Json::array()}}, "moe_layer_freq"},
      {"deepseek-v4", {{"compress_ratios", {0, 4, 4, 4, 4, 4, 4, 4}}}, "compress_ratios"},
  };
  for (const Case& each : cases) expect_refused(each);
}

TEST(ConfigContradictions, NoLayerIsListedTwice) {
  const Case cases[] = {
      {"kimi-linear",
       {{"linear_attn_config", {{"kda_layers", {1, 1, 2}}, {"full_attn_layers", {4}}}}},
       "linear_attn_config.kda_layers"},
      {"kimi-linear",
       {{"linear_attn_config", {{"kda_layers", {1, 2}}, {"full_attn_layers", {4, 4}}}}},
       "linear_attn_config.full_attn_layers"},
      {"kimi-linear",
       {{"linear_attn_config", {{"kda_layers", {1, 2, 4}}, {"full_attn_layers", {4}}}}},
       "linear_attn_config.kda_layers"},
      {"llama4-text", {{"moe_layers", {1, 1, 3}}}, "moe_layers"},
      {"qwen3-moe", {{"mlp_only_layers", {0, 0}}}, "mlp_only_layers"},
  };
  for (const Case& each : cases) expect_refused(each);
}

TEST(ConfigContradictions, AnIntegerIsNoList) {
  const Case cases[] = {
      {"kimi-linear", {{"num_expert_group", Json::array()}}, "num_expert_group"},
      {"kimi-linear", {{"topk_group", {1}}}, "topk_group"},
      {"nemotron-h", {{"num_hidden_layers", Json::array()}}, "num_hidden_layers"},
      {"deepseek-v2-lite", {{"n_group", "1"}}, "n_group"},
      {"deepseek-v4", {{"num_key_value_heads", Json::array()}}, "num_key_value_heads"},
  };
  for (const Case& each : cases) expect_refused(each);
}

TEST(ConfigContradictions, OnlyHunyuanEnlargesThetaByAlpha) {
  const Json alpha = {{"type", "dynamic"}, {"alpha", 1000.0}};
  for (const char* name : {"mistral", "qwen3", "glm4-moe", "olmoe"}) {
    expect_refused({name, {{"rope_scaling", alpha}}, "rope_scaling.rope_type"});
  }
}

// ---- types of numbers

TEST(ConfigContradictions, OfTypesAreSettledByTheNewerSpelling) {
  Json config = config_of("llama");
  config["torch_dtype"] = "bfloat16";
  config["dtype"] = "float32";
  EXPECT_EQ(parse(config).dtype, DType::f32);
  config["torch_dtype"] = "float12";
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "torch_dtype");
}

// ---- wrappers

TEST(ConfigContradictions, OfAWrapperAndItsTextAreRefused) {
  Json config = config_of("qwen3-vl-moe");
  config["text_config"]["dtype"] = "bfloat16";
  config["dtype"] = "float32";
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "dtype");
  config["dtype"] = "torch.bfloat16";
  EXPECT_EQ(parse(config).dtype, DType::bf16);
  config["text_config"]["quantization_config"] = {{"quant_method", "fp8"}};
  config["quantization_config"] = {{"quant_method", "awq"}};
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "quantization_config");
}

TEST(ConfigContradictions, OfEndTokensAreNoneIfTheWrapperNamesMore) {
  Json config = config_of("qwen3-vl-moe");
  config["text_config"]["eos_token_id"] = 1;
  config["eos_token_id"] = {1, 6};  // as Gemma 4
  EXPECT_THAT(parse(config).eos_ids, ElementsAre(1, 6));
  config["eos_token_id"] = 6;
  const Error error = error_of([&] { parse(config); });
  EXPECT_EQ(error.field(), "eos_token_id");
  EXPECT_THAT(error.message(), HasSubstr("text_config"));
}

}  // namespace
}  // namespace dure
