// What the readers of single families make of their configs, and what they refuse.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/config_testing.h"
#include "model/inventory.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gqa;
using ::testing::HasSubstr;
using testing::mla;
using testing::moe;
using testing::parse;
using testing::source_path;
using testing::spec_of;

ModelSpec released(const std::string& name) {
  return load_spec(source_path("testdata/configs/released") / (name + ".json"));
}

std::vector<bool> mixtures(const ModelSpec& spec) {
  std::vector<bool> all;
  for (const LayerSpec& layer : spec.layers) all.push_back(std::get_if<MoeFfn>(&layer.ffn));
  return all;
}

TEST(FamilySpec, WeightsOfEqualLayersAreListedOnceWhereOnlyKindsCount) {
  const ModelSpec spec = released("deepseek-ai--DeepSeek-V3");
  const std::vector<Weight> kinds = inventory_of_kinds(spec);
  int64_t elements = 0;
  for (const Weight& weight : kinds) {
    EXPECT_TRUE(weight.layer < 0 || weight.layer == 0 || weight.layer == 3) << weight.name;
    // 3 dense layers and 58 with experts.
    const int64_t layers = weight.layer < 0 ? 1 : weight.layer == 0 ? 3 : 58;
    elements += layers * weight.elements();
  }
  EXPECT_EQ(elements, total_parameters(spec));
}

// ---- latent attention

TEST(FamilySpec, YarnSharpensLatentAttentionByTheSquareOfItsMscale) {
  const double mscale = 0.1 * std::log(40.0) + 1.0;
  const MlaSpec v3 = mla(spec_of("deepseek-v3"));
  EXPECT_DOUBLE_EQ(v3.scale, mscale * mscale / std::sqrt(24.0));
  EXPECT_EQ(v3.rope.attention_factor, 1.0);
  EXPECT_TRUE(v3.rope.interleaved);
  EXPECT_EQ(v3.rope.dims, 8);
  EXPECT_DOUBLE_EQ(mla(spec_of("glm-moe-dsa")).scale, 1.0 / std::sqrt(32.0));

  Json config = config_of("deepseek-v3");
  config["rope_scaling"].erase("mscale_all_dim");
  EXPECT_DOUBLE_EQ(mla(parse(config)).scale, 1.0 / std::sqrt(24.0));
}

TEST(FamilySpec, QueriesAreCompressedOnlyWhereTheyHaveARank) {
  EXPECT_FALSE(mla(spec_of("deepseek-v2-lite")).q_rank);
  EXPECT_EQ(mla(spec_of("deepseek-v2-group")).q_rank, 48);
}

TEST(FamilySpec, GroupsAreRankedByTheirBestInV2AndByTheirTwoBestInV3) {
  const RouterSpec v2 = moe(spec_of("deepseek-v2-group"), 1).router;
  EXPECT_EQ(v2.groups, (RouterGroups{.count = 4, .kept = 2, .by_best_two = false}));
  EXPECT_FALSE(v2.correction);
  EXPECT_FALSE(v2.normalize);
  EXPECT_EQ(v2.scale, 16.0);
  const RouterSpec v3 = moe(spec_of("deepseek-v3"), 1).router;
  EXPECT_EQ(v3.groups, (RouterGroups{.count = 4, .kept = 2, .by_best_two = true}));
  EXPECT_EQ(v3.score, RouterScore::sigmoid);
  EXPECT_TRUE(v3.correction);
  EXPECT_TRUE(v3.normalize);
  EXPECT_EQ(moe(spec_of("kimi-k2"), 1).router.groups, RouterGroups{});
}

TEST(FamilySpec, NormsOfCompressedVectorsHaveAnEpsilonOfTheirOwn) {
  const ModelSpec spec = spec_of("glm-moe-dsa");
  EXPECT_EQ(spec.norm_eps, 1e-5);
  EXPECT_EQ(mla(spec).norm_eps, 1e-6);
}

TEST(FamilySpec, LaterGlmVersionsReuseTheChoiceOfKeys) {
  const ModelSpec spec = spec_of("glm-moe-dsa-shared-index");
  std::vector<bool> reuse;
  for (size_t i = 0; i < spec.layers.size(); ++i) reuse.push_back(mla(spec, i).indexer->reuse);
  EXPECT_THAT(reuse, ElementsAre(false, false, true, false, true));
  EXPECT_TRUE(mla(spec).indexer->rope.interleaved);
  EXPECT_FALSE(mla(spec_of("deepseek-v32")).indexer->rope.interleaved);

  Json config = config_of("glm-moe-dsa-shared-index");
  config.erase("indexer_types");  // the same by index_topk_freq and index_skip_topk_offset
  EXPECT_EQ(parse(config).layers, spec.layers);
  config["indexer_types"] = {"shared", "full", "full", "full", "full"};
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "indexer_types");
  config = config_of("glm-moe-dsa-shared-index");
  config["mlp_layer_types"][0] = "sparse";
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "mlp_layer_types");
}

TEST(FamilySpec, DraftingLayersAreRecognisedAndNotCounted) {
  EXPECT_EQ(released("deepseek-ai--DeepSeek-V3").draft_layers, 1);
  EXPECT_EQ(released("deepseek-ai--DeepSeek-V3").layers.size(), 61);
  EXPECT_EQ(released("XiaomiMiMo--MiMo-7B-Base").draft_layers, 1);
  EXPECT_EQ(released("MiniMaxAI--MiniMax-M2.5").draft_layers, 3);
}

// ---- windows, chunks and positions

TEST(FamilySpec, EveryOtherLayerOfGptOssSeesAWindow) {
  const ModelSpec spec = released("openai--gpt-oss-120b");
  EXPECT_EQ(gqa(spec, 0).window, 128);
  EXPECT_EQ(gqa(spec, 1).window, std::nullopt);
  EXPECT_FALSE(gqa(spec).rope.truncate);
  EXPECT_DOUBLE_EQ(gqa(spec).rope.attention_factor, 0.1 * std::log(32.0) + 1.0);
  EXPECT_TRUE(gqa(spec).sinks);
  Json config = config_of("gpt-oss-bf16");
  config.erase("layer_types");
  EXPECT_EQ(parse(config).layers, spec_of("gpt-oss-bf16").layers);
}

TEST(FamilySpec, EachFourthLayerOfLlama4SeesAllWithoutPositions) {
  for (const char* name : {"llama4-text", "llama4-text-dense-step1", "llama4-vlm"}) {
    const ModelSpec spec = spec_of(name);
    EXPECT_EQ(gqa(spec, 3).rope.kind, RopeKind::none) << name;
    EXPECT_EQ(gqa(spec, 3).chunk, std::nullopt) << name;
    EXPECT_EQ(gqa(spec, 3).qk_norm, QkNorm::none) << name;
    EXPECT_TRUE(gqa(spec, 3).temperature) << name;
    EXPECT_TRUE(gqa(spec, 0).chunk) << name;
    EXPECT_TRUE(gqa(spec, 0).rope.interleaved) << name;
    EXPECT_FALSE(gqa(spec, 0).temperature) << name;
  }
  EXPECT_EQ(gqa(spec_of("llama4-text")).qk_norm, QkNorm::weightless);
  EXPECT_THAT(mixtures(spec_of("llama4-text")), ElementsAre(false, true, false, true));
  EXPECT_TRUE(moe(spec_of("llama4-text"), 1).router.scales_input);
}

TEST(FamilySpec, GemmaAlternatesWindowsWithRotationsOfTheirOwn) {
  const ModelSpec two = spec_of("gemma2");
  EXPECT_EQ(gqa(two, 0).window, 24);
  EXPECT_EQ(gqa(two, 1).window, std::nullopt);
  EXPECT_DOUBLE_EQ(gqa(two).scale, 1.0 / std::sqrt(20.0));
  EXPECT_EQ(gqa(two).softcap, 50.0);
  EXPECT_TRUE(two.tied_embeddings);
  const ModelSpec three = spec_of("gemma3-text");
  EXPECT_EQ(gqa(three, 4).rope.theta, 10000.0);
  EXPECT_EQ(gqa(three, 5).window, std::nullopt);
  EXPECT_EQ(gqa(three, 5).rope.theta, 1000000.0);
  EXPECT_EQ(gqa(three, 5).rope.kind, RopeKind::linear);
  const ModelSpec newer = spec_of("gemma3-text-newcfg");
  EXPECT_EQ(gqa(newer, 0).rope.theta, 10000.0);
  EXPECT_EQ(gqa(newer, 2).rope.theta, 1000000.0);
}

TEST(FamilySpec, SoftcapsOfGemma2AreDefaultsUnlessNull) {
  Json config = config_of("gemma2");
  config.erase("attn_logit_softcapping");
  EXPECT_EQ(gqa(parse(config)).softcap, 50.0);
  config["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(gqa(parse(config)).softcap, 0.0);
}

TEST(FamilySpec, KindsOfMimoLayersHaveHeadsOfTheirOwn) {
  const ModelSpec spec = spec_of("mimo-v2-flash");
  EXPECT_EQ(gqa(spec, 0).kv_heads, 1);
  EXPECT_EQ(gqa(spec, 1).kv_heads, 2);
  EXPECT_EQ(gqa(spec, 1).window, 16);
  EXPECT_EQ(gqa(spec, 1).rope.theta, 10000.0);
  EXPECT_EQ(gqa(spec, 0).rope.dims, 8);  // 0.334 of 24
  EXPECT_FALSE(gqa(spec, 0).sinks);
  EXPECT_TRUE(gqa(spec, 1).sinks);
}

TEST(FamilySpec, PartsOfHeadsRotate) {
  EXPECT_EQ(gqa(spec_of("glm4-moe")).rope.dims, 8);
  EXPECT_EQ(gqa(spec_of("minimax-m2")).rope.dims, 8);
  EXPECT_EQ(gqa(spec_of("phi3-longrope")).rope.dims, 12);
  EXPECT_EQ(gqa(released("nvidia--MiniMax-M2.5-NVFP4")).rope.dims, 64);
  Json config = config_of("minimax-m2");
  config["partial_rotary_factor"] = 0.25;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "rotary_dim");
}

TEST(FamilySpec, LongropeTakesItsFactorsFromTheStretchOfTheContext) {
  const RopeSpec rope = gqa(spec_of("phi3-longrope")).rope;
  EXPECT_EQ(rope.kind, RopeKind::longrope);
  EXPECT_EQ(rope.original_context, 64);
  EXPECT_DOUBLE_EQ(rope.attention_factor, std::sqrt(1.0 + std::log(4.0) / std::log(64.0)));
  Json config = config_of("phi3-longrope");
  config["rope_scaling"]["long_factor"].erase(0);
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "rope_scaling.long_factor");
}

TEST(FamilySpec, AlphaOfHunyuanEnlargesTheta) {
  EXPECT_DOUBLE_EQ(gqa(spec_of("hunyuan-v1-moe")).rope.theta,
                   10000.0 * std::pow(1000.0, 16.0 / 14.0));
  EXPECT_TRUE(gqa(spec_of("hunyuan-v1-moe")).norm_after_rope);
  Json config = config_of("hunyuan-v1-moe");
  config["moe_topk"] = {3, 3, 2};
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "moe_topk");
}

TEST(FamilySpec, GraniteMultiplies) {
  const ModelSpec spec = spec_of("granitemoe");
  EXPECT_EQ(spec.embedding_scale, 12.0);
  EXPECT_EQ(spec.residual_scale, 0.4);
  EXPECT_DOUBLE_EQ(spec.logit_scale, 1.0 / 6.0);
  EXPECT_EQ(gqa(spec).scale, 0.08);
}

// ---- planned only

TEST(FamilySpec, SaysWhyAModelIsPlannedOnly) {
  EXPECT_EQ(spec_of("deepseek-v3").planned_only, "");
  EXPECT_EQ(spec_of("kimi-linear").planned_only, "");
  EXPECT_THAT(released("moonshotai--Kimi-K3").planned_only, HasSubstr("blocks of layers"));
  EXPECT_THAT(spec_of("deepseek-v4").planned_only, HasSubstr("compressed keys"));
}

TEST(FamilySpec, LayersOfOnePartHaveNoOther) {
  const ModelSpec spec = spec_of("nemotron-h");  // MEM*EM-E
  const auto& layers = spec.layers;
  EXPECT_TRUE(std::holds_alternative<Mamba2Spec>(layers[0].attention));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers[0].ffn));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers[1].attention));
  EXPECT_TRUE(std::holds_alternative<MoeFfn>(layers[1].ffn));
  EXPECT_TRUE(std::holds_alternative<GqaSpec>(layers[3].attention));
  EXPECT_TRUE(std::holds_alternative<DenseFfn>(layers[6].ffn));
  const ModelSpec searched = released("nvidia--Llama-3_3-Nemotron-Super-49B-v1");
  EXPECT_EQ(searched.layers.size(), 80);
  EXPECT_EQ(gqa(searched, 0).kv_heads, 8);
}

TEST(FamilySpec, TakesMoreCompressionRatiosThanLayers) {
  const ModelSpec spec = released("deepseek-ai--DeepSeek-V4-Pro");
  EXPECT_EQ(spec.layers.size(), 61);
  EXPECT_EQ(std::get<CompressedSpec>(spec.layers[2].attention).ratio, 4);
  EXPECT_TRUE(std::get<CompressedSpec>(spec.layers[2].attention).indexer);
  EXPECT_FALSE(std::get<CompressedSpec>(spec.layers[3].attention).indexer);
  // The same model under the name of its reference implementation.
  EXPECT_EQ(total_parameters(released("sgl-project--DeepSeek-V4-Pro-FP8")), total_parameters(spec));
}

// ---- refusals

struct Refusal {
  const char* name;
  const char* key;  // of the text's own object
  Json value;
};

TEST(FamilySpec, RefusesWhatItCannotHonour) {
  const Refusal refusals[] = {
      {"deepseek-v3", "scoring_func", "softplus"},
      {"deepseek-v3", "topk_method", "expert_choice"},
      {"deepseek-v3", "n_group", 3},
      {"deepseek-v3", "topk_group", 5},
      {"deepseek-v3", "hidden_act", "relu"},
      {"deepseek-v3", "qk_rope_head_dim", 7},
      {"deepseek-v2-lite", "norm_topk_prob", true},
      {"kimi-k2", "kv_lora_rank", 0},
      {"deepseek-v32", "q_lora_rank", nullptr},
      {"glm-moe-dsa", "index_topk_pattern", "FFS"},
      {"gpt-oss-bf16", "hidden_act", "gelu"},
      {"gpt-oss-bf16", "experts_per_token", 3},
      {"gpt-oss-bf16", "layer_types", {"full", "full", "full", "full"}},
      {"llama4-text", "for_llm_compressor", true},
      {"llama4-text", "no_rope_layers", {1, 1}},
      {"llama4-text", "moe_layers", {4}},
      {"gemma2", "hidden_activation", "gelu"},
      {"gemma3-text", "use_bidirectional_attention", true},
      {"glm4-moe", "partial_rotary_factor", 0.1},
      {"minimax-m2", "qk_norm_type", "per_head"},
      {"minimax-m2", "scoring_func", "softmax"},
      {"minimax-m2", "attn_type_list", {1, 0, 1}},
      {"minimax-m2", "shared_intermediate_size", 64},
      {"phi3", "lm_head_bias", true},
      {"phi3", "full_attn_mod", 2},
      {"ernie4-5-moe", "moe_gate", "top2_fused"},
      {"ernie4-5-moe", "use_bias", true},
      {"hunyuan-v1-moe", "use_cla", true},
      {"hunyuan-v1-moe", "norm_type", "layer"},
      {"granitemoe", "logits_scaling", 0},
      {"mimo-v2-flash", "hybrid_layer_pattern", {0, 1, 2, 1, 1, 0}},
      {"mimo-v2-flash", "sliding_window_size", 17},
      {"gemma4-moe-text", "num_kv_shared_layers", 2},
      {"gemma4-moe-text", "use_bidirectional_attention", "all"},
      {"gemma4-moe-text", "hidden_size_per_layer_input", 64},
      {"qwen3-next", "layer_types", {"linear_attention", "chunked", "full_attention", "full"}},
      {"qwen3-5-moe-text", "attn_output_gate", false},
      {"kimi-linear", "mla_use_nope", false},
      {"kimi-linear", "moe_router_activation_func", "softmax"},
      {"nemotron-h", "hybrid_override_pattern", "MEMXEM-E"},
      {"nemotron-h", "mlp_hidden_act", "silu"},
      {"nemotron-h", "num_hidden_layers", 9},
      {"deepseek-v4", "scoring_func", "sigmoid"},
      {"deepseek-v4", "compress_ratios", {0, 4}},
  };
  for (const Refusal& refusal : refusals) {
    Json config = config_of(refusal.name);
    config[refusal.key] = refusal.value;
    const Error error = error_of([&] { parse(config); });
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << refusal.name << ": " << refusal.key;
    EXPECT_EQ(error.field(), refusal.key) << refusal.name;
    EXPECT_FALSE(error.hint().empty()) << refusal.name << ": " << refusal.key;
  }
}

TEST(FamilySpec, NamesAKeyThatNoFamilyReads) {
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("testdata/configs/families"))) {
    Json config = read_json_file(entry.path());
    Json& text = config.contains("text_config") ? config["text_config"] : config;
    text["mystery_scale"] = 2.0;
    EXPECT_THAT(error_of([&] { parse(config); }).field(), HasSubstr("mystery_scale"))
        << entry.path();
  }
}

// Whatever one value is replaced by, the config is read or refused, and what is read can be listed.
TEST(FamilySpec, SurvivesAnyValueOfAnyKey) {
  const Json values[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         3,
                         1 << 20,
                         0.5,
                         1e308,
                         UINT64_MAX,
                         "x",
                         Json::array(),
                         Json::object(),
                         {1, 2, 3},
                         {"full_attention"}};
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("testdata/configs/families"))) {
    const Json whole = read_json_file(entry.path());
    const bool wrapped = whole.contains("text_config");
    for (const auto& [key, value] : (wrapped ? whole["text_config"] : whole).items()) {
      for (const Json& other : values) {
        Json config = whole;
        (wrapped ? config["text_config"] : config)[key] = other;
        try {
          EXPECT_GT(total_parameters(parse(config)), 0) << key;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::bad_input) << key;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dure
