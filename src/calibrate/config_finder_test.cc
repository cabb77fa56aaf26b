#include "calibrate/config_finder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace dure {
namespace {

namespace fs = std::filesystem;

class ConfigFinderTest : public ::testing::Test {
 protected:
  std::string found(std::string_view model) const {
    const auto file = finder_.find(model);
    return file ? file->stem().string() : "none";
  }

 private:
  fs::path configs_ = fs::path(DURE_SOURCE_DIR) / "testdata/configs";
  ConfigFinder finder_{{configs_ / "released", configs_ / "measured", configs_ / "no-such-folder"}};
};

TEST_F(ConfigFinderTest, TakesTheModelOfThatNameFirst) {
  EXPECT_EQ(found("Qwen/Qwen3-32B"), "Qwen--Qwen3-32B");
  EXPECT_EQ(found("qwen/qwen3-32b-fp8"), "Qwen--Qwen3-32B-FP8");
  EXPECT_EQ(found("openai/gpt-oss-120b"), "openai--gpt-oss-120b");
}

TEST_F(ConfigFinderTest, CopiesInOtherFormatsHaveTheShapesOfTheRelease) {
  EXPECT_EQ(found("RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic"),
            "meta-llama--Llama-3.3-70B-Instruct");
  EXPECT_EQ(found("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16"),
            "meta-llama--Meta-Llama-3.1-8B");
  EXPECT_EQ(found("Qwen2.5-32B-FP8"), "Qwen--Qwen2.5-32B-Instruct");
  EXPECT_EQ(found("unsloth/Qwen3-30B-A3B-Instruct-2507-AWQ"), "Qwen--Qwen3-30B-A3B");
  EXPECT_EQ(found("nvidia/Nemotron-3-Nano-30B-A3B"), "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16");
}

TEST_F(ConfigFinderTest, LaterReleasesUnderALongerNameTakeTheLongestThatTheyBeginWith) {
  EXPECT_EQ(found("deepseek-ai/DeepSeek-V4-Flash-0731"), "deepseek-ai--DeepSeek-V4-Flash");
  EXPECT_EQ(found("deepseek-ai/DeepSeek-R1-0528"), "deepseek-ai--DeepSeek-R1");
  EXPECT_EQ(found("deepseek-ai/DeepSeek-V3.2-Exp"), "deepseek-ai--DeepSeek-V3.2");
}

TEST_F(ConfigFinderTest, OtherSizesOfAFamilyAreNotTakenForOneAnother) {
  EXPECT_EQ(found("Qwen/Qwen3-31B"), "none");
  EXPECT_EQ(found("meta-llama/Llama-3.1-9B"), "none");
  EXPECT_EQ(found("someone/unheard-of"), "none");
  EXPECT_EQ(found(""), "none");
}

}  // namespace
}  // namespace dure
