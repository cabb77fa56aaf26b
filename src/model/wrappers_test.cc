#include "model/wrappers.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/checkpoint.h"
#include "model/config_testing.h"
#include "model/inventory.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::parse;

TEST(Wrappers, KeepTheNameOfTheWholeAndTheTensorsOfTheText) {
  const ModelSpec spec = parse(config_of("llama4-vlm"));
  EXPECT_EQ(spec.family, "llama4");
  EXPECT_EQ(inventory(spec).front().name, "language_model.model.embed_tokens.weight");
  EXPECT_EQ(inventory(spec).back().name, "language_model.lm_head.weight");
  EXPECT_TRUE(is_of_other_part(spec, "vision_model.patch_embedding.linear.weight"));
  EXPECT_FALSE(is_of_other_part(spec, "language_model.model.norm.weight"));
}

TEST(Wrappers, LeaveToTheTextWhatStandsOutside) {
  const ModelSpec gemma = parse(config_of("gemma3-vlm"));
  EXPECT_THAT(gemma.eos_ids, ElementsAre(1, 106));
  EXPECT_TRUE(gemma.tied_embeddings);  // by the family's default
  Json config = config_of("qwen3-vl-moe");
  config["tie_word_embeddings"] = true;
  EXPECT_TRUE(parse(config).tied_embeddings);
  config["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_EQ(parse(config).quantization, "fp8");
}

TEST(Wrappers, FindQuantizationInsideTheText) {
  EXPECT_EQ(parse(config_of("kimi-k2-5")).quantization, "compressed-tensors");
}

TEST(Wrappers, RefuseTowersOfAnotherWidth) {
  for (const char* key : {"out_hidden_size", "text_hidden_size"}) {
    Json config = config_of("qwen3-vl-moe");
    config["vision_config"][key] = config["text_config"]["hidden_size"];
    EXPECT_EQ(parse(config).hidden, 64);
    config["vision_config"][key] = 128;
    EXPECT_EQ(error_of([&] { parse(config); }).field(), std::string("vision_config.") + key);
  }
}

TEST(Wrappers, RefuseContradictingTies) {
  Json config = config_of("qwen3-vl-moe");
  config["text_config"]["tie_word_embeddings"] = true;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "tie_word_embeddings");
}

TEST(Wrappers, ReadPositionsOfTextAsPlain) {
  const ModelSpec spec = parse(config_of("qwen3-vl-moe"));
  EXPECT_EQ(std::get<GqaSpec>(spec.layers[0].attention).rope.kind, RopeKind::plain);
}

TEST(Wrappers, KeepQwenExpertsTogetherAndTheTextAloneApart) {
  EXPECT_EQ(parse(config_of("qwen3-5-moe-vlm")).names.experts, ExpertStorage::stacked_out_in);
  EXPECT_EQ(parse(config_of("qwen3-5-moe-text")).names.experts, ExpertStorage::separate);
}

TEST(Wrappers, NameWhatTheyCannotRead) {
  Json config = config_of("llama4-vlm");
  config["mystery"] = 1;
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "mystery");
  config = config_of("llama4-vlm");
  config["text_config"]["model_type"] = "llama5_text";
  Error error = error_of([&] { parse(config); });
  EXPECT_EQ(error.field(), "text_config.model_type");
  EXPECT_THAT(error.hint(), HasSubstr("llama4_text"));
  config.erase("text_config");
  EXPECT_EQ(error_of([&] { parse(config); }).field(), "text_config");
  config = config_of("llama4-vlm");
  config["text_config"]["hidden_size"] = "64";
  error = error_of([&] { parse(config); });
  EXPECT_EQ(error.field(), "text_config.hidden_size");
  config["text_config"] = {1, 2};
  EXPECT_EQ(error_of([&] { parse(config); }).code(), ErrorCode::bad_input);
}

}  // namespace
}  // namespace dure
