#include "model/presets.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model/inventory.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

using ::testing::Contains;
using testing::error_of;
using testing::source_path;

double billions(int64_t parameters) {
  return static_cast<double>(parameters) / 1e9;
}

TEST(Presets, AreAllReadByNamesThatCanBeTyped) {
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(std::all_of(preset.name.begin(), preset.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    })) << preset.name;
    EXPECT_FALSE(preset.name[0] >= '0' && preset.name[0] <= '9') << preset.name << ": a size";
    EXPECT_GT(total_parameters(spec_of(preset)), 0) << preset.name;
  }
  const std::vector<std::string> names = preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "a name twice";
  for (const char* name :
       {"deepseek-v3", "kimi-k2", "gpt-oss-120b", "llama-3.1-405b", "gpt-moe-1.8t"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

TEST(Presets, AreTheFilesThatTheListNamesByteForByte) {
  std::ifstream list(source_path("models/presets/presets.txt"));
  size_t read = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    std::string path;
    words >> name >> path;
    const Preset* preset = find_preset(name);
    ASSERT_NE(preset, nullptr) << name;
    std::ifstream file(source_path(path), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(preset->config, text) << name;
    ++read;
  }
  EXPECT_EQ(read, presets().size());
}

TEST(Presets, AreFoundInAnyCase) {
  ASSERT_NE(find_preset("DeepSeek-V3"), nullptr);
  EXPECT_EQ(find_preset("DeepSeek-V3"), find_preset("deepseek-v3"));
  EXPECT_EQ(find_preset("deepseek-v"), nullptr);
  EXPECT_EQ(find_preset(""), nullptr);
}

// Every figure that was reported of it, within what "about" leaves open; the total to its digits.
TEST(Presets, EstimateTheMixtureOf1800BillionAsItWasReported) {
  const ModelSpec spec = spec_of(*find_preset("gpt-moe-1.8t"));
  int64_t attention = 0;
  int64_t expert = 0;
  for (const Weight& weight : inventory(spec)) {
    if (weight.part == Part::q || weight.part == Part::k || weight.part == Part::v ||
        weight.part == Part::o) {
      attention += weight.elements();
    }
    if (weight.expert == 0) expert += weight.elements();
  }
  EXPECT_EQ(spec.layers.size(), 120);
  const auto& moe = std::get<MoeFfn>(spec.layers[0].ffn);
  EXPECT_EQ(moe.experts, 16);
  EXPECT_EQ(moe.top_k, 2);
  EXPECT_NEAR(billions(total_parameters(spec)), 1800, 0.01 * 1800);
  EXPECT_NEAR(billions(active_parameters(spec)), 280, 0.01 * 280);
  EXPECT_NEAR(billions(expert), 111, 0.02 * 111);
  EXPECT_NEAR(billions(attention), 55, 0.04 * 55);
}

TEST(Presets, HaveNoWeightsToLoad) {
  const Error error = error_of([] { load_spec("deepseek-v3"); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  EXPECT_EQ(error.message(), "deepseek-v3: a preset has no weights");
}

}  // namespace
}  // namespace dure
