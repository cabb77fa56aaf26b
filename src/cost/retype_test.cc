#include "cost/retype.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cost/fit.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path configs = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs";

ModelSpec released(const std::string& name) {
  return load_spec(configs / "released" / (name + ".json"));
}

double bytes_as_released(ModelSpec spec) {
  const auto format = retype(spec, "");
  return static_cast<double>(MemoryModel(spec, format).all_weights());
}

// The first tensor called so, as the release is counted.
std::optional<WeightFormat> format_of(ModelSpec& spec, const std::string& name) {
  const auto format = retype(spec, "");
  for (const Weight& weight : inventory(spec)) {
    if (weight.name == name) return counted_in(weight, spec, format);
  }
  ADD_FAILURE() << "no tensor " << name;
  return std::nullopt;
}

std::string name_of(ModelSpec& spec, const std::string& tensor) {
  const auto format = format_of(spec, tensor);
  return format ? std::string(format->name) : "unquantized";
}

ModelSpec small_with(const std::string& block) {
  std::ifstream file(configs / "released/Qwen--Qwen3-30B-A3B.json");
  Json document = Json::parse(file);
  document["quantization_config"] = Json::parse(block);
  return spec_from_config(document, "config.json");
}

struct Published {
  const char* config;
  double bytes;
  const char* source;
};

// Layers that only draft tokens are in the files and not in this count.
TEST(Retype, CountsReleasesAsLargeAsTheirFilesAre) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  constexpr Published table[] = {
      {"moonshotai--Kimi-K2.5", 595e9, "size of its repository"},
      {"moonshotai--Kimi-K2-Instruct", 1.029e12, "size of its repository"},
      {"openai--gpt-oss-120b", 60.8 * gib, "model card, arXiv:2508.10925 table 1"},
      {"openai--gpt-oss-20b", 12.8 * gib, "model card, arXiv:2508.10925 table 1"},
  };
  for (const Published& each : table) {
    const double counted = bytes_as_released(released(each.config));
    EXPECT_NEAR(counted / each.bytes, 1.0, 0.01) << each.config << ", " << each.source;
  }
}

// 688.6 GB in its files' index, of which one layer that drafts: a layer like the last, a matrix of
// two hidden states and copies of embedding and head in bf16.
TEST(Retype, CountsDeepSeekV3AsLargeAsItsFilesAreWithTheLayerThatDrafts) {
  ModelSpec spec = released("deepseek-ai--DeepSeek-V3");
  const double without = bytes_as_released(spec);
  spec.layers.push_back(spec.layers.back());
  const auto width = static_cast<double>(spec.hidden);
  const double copies = 2.0 * 2.0 * static_cast<double>(spec.vocab) * width;
  EXPECT_NEAR(bytes_as_released(spec) + copies + 2.0 * 2.0 * width * width, 688.6e9,
              0.01 * 688.6e9);
  EXPECT_GT(without, 671e9);
}

TEST(Retype, LeavesUnquantizedWhatTheReleaseLists) {
  ModelSpec kimi = released("moonshotai--Kimi-K2.5");
  const std::string layer = "language_model.model.layers.1.";
  EXPECT_EQ(name_of(kimi, layer + "mlp.experts.0.up_proj.weight"), "int4");
  EXPECT_DOUBLE_EQ(format_of(kimi, layer + "mlp.experts.0.up_proj.weight")->bits_per_weight, 4.5);
  EXPECT_EQ(name_of(kimi, layer + "self_attn.o_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(kimi, layer + "mlp.shared_experts.up_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(kimi, "language_model.model.layers.0.mlp.up_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(kimi, "language_model.lm_head.weight"), "unquantized");
  EXPECT_EQ(name_of(kimi, layer + "mlp.gate.weight"), "unquantized");

  ModelSpec glm = released("nvidia--GLM-5.1-NVFP4");
  EXPECT_EQ(name_of(glm, "model.layers.2.mlp.up_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(glm, "model.layers.20.mlp.experts.3.up_proj.weight"), "nvfp4");
  EXPECT_EQ(name_of(glm, "model.layers.20.mlp.shared_experts.up_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(glm, "model.layers.20.self_attn.o_proj.weight"), "unquantized");
}

TEST(Retype, CountsEachMatrixOfAMixedReleaseInItsOwnFormat) {
  ModelSpec qwen = released("nvidia--Qwen3.6-35B-A3B-NVFP4");
  const std::string layer = "model.language_model.layers.0.";
  EXPECT_EQ(name_of(qwen, layer + "mlp.experts.gate_up_proj"), "nvfp4");
  EXPECT_EQ(name_of(qwen, layer + "linear_attn.in_proj_qkv.weight"), "fp8");
  EXPECT_EQ(name_of(qwen, layer + "linear_attn.in_proj_a.weight"), "unquantized");
  EXPECT_EQ(name_of(qwen, "lm_head.weight"), "nvfp4");

  ModelSpec v4 = released("deepseek-ai--DeepSeek-V4-Pro");
  EXPECT_EQ(name_of(v4, "layers.3.ffn.experts.0.w1.weight"), "mxfp4");
  EXPECT_EQ(name_of(v4, "layers.3.attn.wo_b.weight"), "fp8");
}

TEST(Retype, UnderstandsTheBlocksOfEveryTool) {
  struct Case {
    const char* block;
    const char* expert;
    const char* attention;
    double bits;  // of an expert's weight
  };
  const Case cases[] = {
      {R"({"quant_method": "gptq", "bits": 4, "group_size": 128})", "int4", "int4", 4.15625},
      {R"({"quant_method": "gptq", "bits": 3, "group_size": -1})", "int3", "int3", 3},
      {R"({"quant_method": "gptq", "bits": 4, "group_size": 32,
           "dynamic": {"-:.*self_attn.*": {}}})",
       "int4", "unquantized", 4.625},
      {R"({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true,
           "modules_to_not_convert": ["self_attn"]})",
       "int4", "unquantized", 4.3125},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", "int4", "int4", 4.5},
      {R"({"quant_method": "bitsandbytes", "load_in_8bit": true})", "int8", "int8", 8},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["*self_attn*"]})",
       "nvfp4", "unquantized", 4.5},
      {R"({"quant_algo": "FP8_PB_WO"})", "fp8", "fp8", 8},
      {R"({"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"],
           "config_groups": {"g": {"targets": ["Linear"],
           "weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}}})",
       "int8", "unquantized", 8},
      {R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
           "config_groups": {"g": {"targets": ["re:.*mlp.experts.*"],
           "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}})",
       "nvfp4", "unquantized", 4.5},
      {R"({"quant_method": "mxfp4"})", "mxfp4", "unquantized", 4.25},
      {R"({"quant_method": "quark", "exclude": ["*self_attn*"],
           "global_quant_config": {"weight": {"dtype": "fp4"}}})",
       "mxfp4", "unquantized", 4.25},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.block);
    ModelSpec spec = small_with(each.block);
    const std::string expert = "model.layers.7.mlp.experts.5.down_proj.weight";
    EXPECT_EQ(name_of(spec, expert), each.expert);
    EXPECT_DOUBLE_EQ(format_of(spec, expert)->bits_per_weight, each.bits);
    EXPECT_EQ(name_of(spec, "model.layers.7.self_attn.q_proj.weight"), each.attention);
    EXPECT_EQ(name_of(spec, "model.layers.7.mlp.gate.weight"), "unquantized");
    EXPECT_EQ(name_of(spec, "model.embed_tokens.weight"), "unquantized");
    EXPECT_THAT(spec.release.remarks, IsEmpty());
  }
}

// Names that end in ".linear", and one of q, k and v alone, in one layer alone.
TEST(Retype, CountsOneMatrixOfOneLayerApart) {
  const char* block = R"({"quant_method": "compressed-tensors",
      "ignore": ["lm_head", "model.layers.0.self_attn.q_proj.linear"],
      "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}})";
  ModelSpec spec = small_with(block);
  EXPECT_EQ(name_of(spec, "model.layers.0.self_attn.q_proj.weight"), "unquantized");
  EXPECT_EQ(name_of(spec, "model.layers.0.self_attn.k_proj.weight"), "fp8");
  EXPECT_EQ(name_of(spec, "model.layers.1.self_attn.q_proj.weight"), "fp8");
  EXPECT_EQ(name_of(spec, "model.layers.10.self_attn.q_proj.weight"), "fp8");
  const auto format = retype(spec, "");
  double sum = 0;
  for (const Weight& weight : inventory(spec)) {
    const auto own = counted_in(weight, spec, format);
    sum += static_cast<double>(own ? bytes_in(*own, weight.elements()) : weight.bytes());
  }
  const MemoryModel model(spec, format);
  EXPECT_EQ(static_cast<double>(model.all_weights()), sum);
  // The rank's count goes over merged matrices, and holds vectors in fp32.
  const MemoryModel plain(spec);
  EXPECT_EQ(plain.of({}, 0, {}).weights - model.of({}, 0, {}).weights,
            plain.all_weights() - model.all_weights());
}

TEST(Retype, NeverCountsAnUnknownMethodInSilence) {
  ModelSpec spec = small_with(R"({"quant_method": "zipnn"})");
  EXPECT_FALSE(retype(spec, "").has_value());
  EXPECT_THAT(release_remarks(spec, std::nullopt), Contains(HasSubstr("\"zipnn\" is not known")));
  const MemoryModel model(spec);
  const FitQuestion question;
  EXPECT_THAT(fit_remarks(model, question, fit(model, question)), Contains(HasSubstr("zipnn")));

  ModelSpec three = small_with(R"({"quant_method": "hqq-like", "nbits": 3, "group_size": 64})");
  EXPECT_DOUBLE_EQ(retype(three, "")->bits_per_weight, 3.25);
  EXPECT_THAT(three.release.remarks, Contains(HasSubstr("counted as 3 bits a weight")));

  ModelSpec odd = small_with(R"({"quant_method": "compressed-tensors", "ignore": ["re:(?=x)y"],
      "config_groups": {"g": {"weights": {"num_bits": 8}}}})");
  EXPECT_THAT(odd.release.remarks, Contains(HasSubstr("not understood")));
  // Asked for, none of this matters.
  EXPECT_THAT(release_remarks(odd, find_weight_format("fp8")), IsEmpty());
}

TEST(Retype, RefusesBlocksThatAreMalformed) {
  for (
      const char* block :
      {R"({"quant_method": "gptq", "bits": -4})", R"({"quant_method": "awq", "bits": "four"})",
       R"({"quant_method": "compressed-tensors", "config_groups": []})",
       R"({"quant_method": "compressed-tensors", "config_groups": {"g": 3}})",
       R"({"quant_method": "fp8", "modules_to_not_convert": "lm_head"})",
       R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": [1]})"}) {
    EXPECT_THROW(small_with(block), Error) << block;
  }
}

}  // namespace
}  // namespace dure
