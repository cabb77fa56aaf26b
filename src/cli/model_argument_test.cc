#include "cli/model_argument.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::source_path;
using ::testing::StartsWith;
using testing::TempFolder;

TEST(ModelArgument, IsASizeWhereItBeginsWithANumber) {
  EXPECT_EQ(parameters_if_size("1T"), 1'000'000'000'000);
  EXPECT_EQ(parameters_if_size("1.8T"), 1'800'000'000'000);
  EXPECT_EQ(parameters_if_size("175B"), 175'000'000'000);
  EXPECT_EQ(parameters_if_size("deepseek-v3"), std::nullopt);
  EXPECT_EQ(parameters_if_size("7b/config.json"), std::nullopt);
  EXPECT_EQ(parameters_if_size(""), std::nullopt);
}

TEST(ModelArgument, RefusesSizesThatCannotBeCounted) {
  for (const char* size :
       {"0", "0B", "-5B", "-0.1T", "671X", "80GB", "1e30", "1..5T", "10000000T",
        "1000000000000000000000000000000", "1000000000000000000T", "0.0000000001B"}) {
    const Error error = error_of([&] { parameters_if_size(size); });
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << size;
    EXPECT_THAT(error.message(), HasSubstr(size));
    EXPECT_NE(error.hint(), "") << size;
  }
}

TEST(ModelArgument, IsAPathBeforeItIsAPreset) {
  EXPECT_EQ(planned_spec("DeepSeek-V3").family, "deepseek_v3");
  const TempFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("deepseek-v3");
  std::filesystem::copy_file(source_path("testdata/models/llama/config.json"),
                             "deepseek-v3/config.json");
  EXPECT_EQ(planned_spec("deepseek-v3").family, "llama");
  std::filesystem::create_directory("70B");
  EXPECT_EQ(parameters_if_size("70B"), std::nullopt);
  std::filesystem::current_path(before);
}

TEST(ModelArgument, NamesTheClosestPresetOrWhatIsWrongWithThePath) {
  const auto hint = [](const char* name) { return error_of([&] { planned_spec(name); }).hint(); };
  EXPECT_THAT(hint("kimik2"), StartsWith("the closest preset is kimi-k2;"));
  EXPECT_THAT(hint("deepseek-ai/DeepSeek-V3"), StartsWith("the closest preset is deepseek-v3;"));
  EXPECT_THAT(hint("Llama3.1-405B"), StartsWith("the closest preset is llama-3.1-405b;"));
  for (const char* path : {"./kimi-k2", "a/b/kimi-k2", "kimi-k2.json", "a/config.json"}) {
    EXPECT_THAT(hint(path), StartsWith("a model is a Hugging Face folder")) << path;
  }
  EXPECT_EQ(error_of([] { planned_spec(""); }).message(), "MODEL is empty");
}

}  // namespace
}  // namespace dure
