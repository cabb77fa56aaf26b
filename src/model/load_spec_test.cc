#include "model/load_spec.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config_testing.h"
#include "model/inventory.h"
#include "model/testing.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::gqa;
using ::testing::HasSubstr;
using testing::parse;
using testing::source_path;
using testing::TempFolder;
using testing::windows;

Json small_llama() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 128, "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", "eos_token_id": 2})");
}

Json small(const std::string& family) {
  Json config = small_llama();
  config["model_type"] = family;
  if (family == "mixtral") config["num_local_experts"] = 8;
  if (family == "qwen2_moe" || family == "qwen3_moe" || family == "olmoe") {
    config["num_experts"] = 8;
  }
  if (family == "qwen2_moe" || family == "qwen3_moe") config["moe_intermediate_size"] = 32;
  if (family == "qwen2_moe") config["shared_expert_intermediate_size"] = 48;
  if (family.find("mo") != std::string::npos || family == "mixtral") {
    config["num_experts_per_tok"] = 2;
  }
  return config;
}

// ---- what goes in comes out

TEST(LoadSpec, CountsAMixtureWithItsExpertsAndItsUntiedHead) {
  const ModelSpec spec = load_spec(source_path("testdata/configs/field-cases/mixtral-8x7b"));
  EXPECT_EQ(total_parameters(spec), 46'702'792'704);
  EXPECT_EQ(active_parameters(spec), 12'879'925'248);
}

TEST(LoadSpec, ReadsTheOlderRopeKindAsTheNewer) {
  const ModelSpec spec = load_spec(source_path("testdata/configs/field-cases/rope-old-type"));
  EXPECT_EQ(gqa(spec).rope.kind, RopeKind::linear);
  EXPECT_EQ(gqa(spec).rope.factor, 8.0);
  EXPECT_EQ(spec.context, 32768);
}

TEST(LoadSpec, ReadsNullAsAbsent) {
  const ModelSpec spec = load_spec(source_path("testdata/configs/field-cases/null-optionals"));
  EXPECT_EQ(gqa(spec).head_dim, 128);
  EXPECT_EQ(gqa(spec).kv_heads, 32);
  EXPECT_EQ(gqa(spec).rope.kind, RopeKind::plain);
  EXPECT_FALSE(gqa(spec).qkv_bias);
}

TEST(LoadSpec, AcceptsAByteOrderMark) {
  EXPECT_EQ(load_spec(source_path("testdata/configs/field-cases/bom")).layers.size(), 32);
}

TEST(LoadSpec, RefusesMalformedFilesNamingThem) {
  for (const char* name : {"nan", "comment", "duplicate-key", "array", "empty", "deep"}) {
    const auto folder = source_path("testdata/configs/field-cases") / name;
    const Error error = error_of([&] { load_spec(folder); });
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << name;
    EXPECT_THAT(error.message(), HasSubstr("config.json")) << name;
  }
}

TEST(LoadSpec, NamesTheMethodOfAQuantizedCheckpoint) {
  EXPECT_EQ(load_spec(source_path("testdata/configs/field-cases/moe30-fp8")).quantization, "fp8");
  EXPECT_EQ(
      load_spec(source_path("testdata/configs/released/Qwen--Qwen3-32B-FP8-Static-PerTensor.json"))
          .quantization,
      "FP8");
  EXPECT_EQ(load_spec(source_path("testdata/configs/released/Qwen--Qwen3-8B.json")).quantization,
            "");
}

TEST(LoadSpec, ReadsTheBlocksThatShareAScale) {
  EXPECT_THAT(load_spec(source_path("testdata/configs/field-cases/moe30-fp8")).scale_block,
              ElementsAre(128, 128));
  Json config = small_llama();
  const auto with_blocks = [&](const Json& blocks) {
    config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", blocks}};
    return config;
  };
  EXPECT_TRUE(parse(with_blocks(nullptr)).scale_block.empty());
  for (const Json& wrong : {Json(128), Json::array({128}), Json::array({0, 128}),
                            Json::array({1, 2, 3}), Json::array({"128", 128})}) {
    EXPECT_EQ(error_of([&] { parse(with_blocks(wrong)); }).field(),
              "quantization_config.weight_block_size")
        << wrong;
  }
}

// ---- families

TEST(LoadSpec, UnknownFamilyNamesTheClosest) {
  const Error error = error_of([] { parse(small("qwen3_mo")); });
  EXPECT_THAT(error.message(), HasSubstr("qwen3_mo"));
  EXPECT_THAT(error.hint(), HasSubstr("closest known one is \"qwen3_moe\""));
  EXPECT_EQ(error.field(), "model_type");
}

TEST(LoadSpec, WindowIsDefaultInMistralUnlessNull) {
  Json config = small("mistral");
  EXPECT_THAT(windows(parse(config)), ElementsAre(4096, 4096, 4096, 4096));
  config["sliding_window"] = nullptr;
  EXPECT_THAT(windows(parse(config)), ElementsAre(0, 0, 0, 0));
  config["sliding_window"] = 32;
  config["layer_types"] = {"full_attention", "sliding_attention", "full_attention",
                           "sliding_attention"};
  EXPECT_THAT(windows(parse(config)), ElementsAre(0, 32, 0, 32));
}

TEST(LoadSpec, Qwen2WindowStartsAtMaxWindowLayers) {
  Json config = small("qwen2");
  config["sliding_window"] = 64;
  config["max_window_layers"] = 3;
  config["use_sliding_window"] = false;
  EXPECT_THAT(windows(parse(config)), ElementsAre(0, 0, 0, 0));
  config["use_sliding_window"] = true;
  EXPECT_THAT(windows(parse(config)), ElementsAre(0, 0, 0, 64));
}

TEST(LoadSpec, BiasesFollowTheFamily) {
  Json config = small("qwen2");
  config["attention_bias"] = false;  // written by tools, without effect there
  EXPECT_TRUE(gqa(parse(config)).qkv_bias);
  EXPECT_FALSE(gqa(parse(config)).o_bias);
  config = small("llama");
  config["attention_bias"] = true;
  EXPECT_TRUE(gqa(parse(config)).o_bias);
  config = small("mistral");
  config["attention_bias"] = true;
  EXPECT_THROW(parse(config), Error);
}

TEST(LoadSpec, SparseLayersFollowStepAndList) {
  Json config = small("qwen2_moe");
  config["decoder_sparse_step"] = 2;
  config["mlp_only_layers"] = {3};
  const ModelSpec spec = parse(config);
  std::vector<bool> moe;
  for (const LayerSpec& layer : spec.layers)
    moe.push_back(std::holds_alternative<MoeFfn>(layer.ffn));
  EXPECT_THAT(moe, ElementsAre(false, true, false, false));
  EXPECT_TRUE(std::get<MoeFfn>(spec.layers[1].ffn).shared->gated);
}

TEST(LoadSpec, OlmoeRefusesClippedProjections) {
  Json config = small("olmoe");
  config["clip_qkv"] = nullptr;
  EXPECT_EQ(gqa(parse(config)).qk_norm, QkNorm::whole);
  config["clip_qkv"] = 8.0;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "clip_qkv");
}

// ---- rotary settings

TEST(LoadSpec, BothSpellingsOfRopeAgree) {
  Json older = small_llama();
  older["rope_theta"] = 500000.0;
  older["rope_scaling"] = {
      {"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}};
  Json newer = small_llama();
  newer["rope_parameters"] = {{"rope_type", "yarn"},
                              {"rope_theta", 500000.0},
                              {"factor", 4.0},
                              {"original_max_position_embeddings", 512}};
  for (const Json& config : {older, newer}) {
    const RopeSpec rope = gqa(parse(config)).rope;
    EXPECT_EQ(rope.kind, RopeKind::yarn);
    EXPECT_EQ(rope.theta, 500000.0);
    EXPECT_EQ(rope.original_context, 512);
    EXPECT_DOUBLE_EQ(rope.attention_factor, 0.1 * std::log(4.0) + 1.0);
  }
}

TEST(LoadSpec, YarnTakesAStatedAttentionFactorAndMscales) {
  Json config = small_llama();
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"attention_factor", 1.25}};
  EXPECT_EQ(gqa(parse(config)).rope.attention_factor, 1.25);
  config["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 40.0}, {"mscale", 1.0}, {"mscale_all_dim", 1.0}};
  EXPECT_EQ(gqa(parse(config)).rope.attention_factor, 1.0);
}

TEST(LoadSpec, RefusesRopeKindsByName) {
  Json config = small_llama();
  config["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4.0}};
  const Error error = error_of([&] { parse(config); });
  EXPECT_THAT(error.message(), HasSubstr("dynamic"));
  EXPECT_EQ(error.field(), "rope_scaling.rope_type");
  config["rope_scaling"] = {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 4.0}};
  EXPECT_THROW(parse(config), Error);
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"short_factor", 1.0}};
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "rope_scaling.short_factor");
}

// ---- strictness

TEST(LoadSpec, NamesAKeyThatItDoesNotKnow) {
  Json config = small_llama();
  config["logit_softcap"] = 30.0;
  const Error error = error_of([&] { parse(config); });
  EXPECT_EQ(error.field(), "logit_softcap");
  config["logit_softcap"] = nullptr;
  EXPECT_NO_THROW(parse(config));
}

TEST(LoadSpec, RefusesEveryUnsaneSizeByItsField) {
  const char* const fields[] = {
      "hidden_size",       "num_hidden_layers", "num_attention_heads",    "num_key_value_heads",
      "intermediate_size", "vocab_size",        "max_position_embeddings"};
  const Json values[] = {-1,   0,    1000000000000, 1e308,           1.5,
                         "64", true, UINT64_MAX,    Json::array({1})};
  for (const char* field : fields) {
    for (const Json& value : values) {
      Json config = small_llama();
      config[field] = value;
      EXPECT_EQ(error_of([&] { parse(config); }).field(), field) << field << " = " << value;
    }
  }
}

TEST(LoadSpec, RefusesMoreExpertsThanAListCouldHold) {
  Json config = small("mixtral");
  config["num_local_experts"] = 16384;
  config["num_hidden_layers"] = 1024;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "num_local_experts");
  config = small("mixtral");
  config["num_experts_per_tok"] = 9;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "num_experts_per_tok");
}

TEST(LoadSpec, RefusesWhatDoesNotGenerateText) {
  Json config = small_llama();
  config["architectures"] = {"LlamaForSequenceClassification"};
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "architectures");
  config = small_llama();
  config["hidden_act"] = "gelu";
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "hidden_act");
}

// ---- folders

TEST(LoadSpec, MergesTheStopTokensOfTheGenerationConfig) {
  const TempFolder folder;
  folder.write("config.json", small_llama().dump());
  folder.write("generation_config.json", R"({"eos_token_id": [2, 7], "temperature": 0.6})");
  EXPECT_THAT(load_spec(folder.path()).eos_ids, ElementsAre(2, 7));
}

TEST(LoadSpec, SaysWhatIsMissing) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(), HasSubstr("no config.json"));
  EXPECT_THAT(error_of([&] { load_spec(folder.path() / "nowhere"); }).message(),
              HasSubstr("no such file"));
  folder.write("model.gguf", "GGUF");
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(), HasSubstr("GGUF"));
}

TEST(LoadSpec, SaysThatALinkLeadsNowhere) {
  const TempFolder folder;
  const auto config = folder.path() / "config.json";
  std::filesystem::create_symlink("config.json", config);
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(),
              HasSubstr("a symbolic link that leads to no file: Too many levels"));
  std::filesystem::remove(config);
  std::filesystem::create_symlink("gone", config);
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(),
              HasSubstr(config.string() + ": a symbolic link that leads to no file"));
  EXPECT_THAT(error_of([&] { load_spec(config); }).message(), HasSubstr("symbolic link"));
}

TEST(LoadSpec, PointsFromAHubCacheFolderToItsSnapshot) {
  const TempFolder folder;
  const auto cache = folder.path() / "models--owner--name";
  std::filesystem::create_directories(cache / "snapshots" / "0123abcd");
  std::filesystem::create_directories(cache / "refs");
  folder.write("models--owner--name/refs/main", "0123abcd");
  EXPECT_THAT(error_of([&] { load_spec(cache); }).hint(), HasSubstr("snapshots/0123abcd"));
}

}  // namespace
}  // namespace dure
