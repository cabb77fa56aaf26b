// Every recorded model case, in one rank and cut every way, in fp32 and bf16: the answers as
// recorded, and the bits of one rank wherever the layout promises them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/this_machine.h"
#include "cost/shard.h"
#include "model/load_spec.h"
#include "verify/compare.h"
#include "verify/expected.h"
#include "verify/verify.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

int64_t experts_of(const ModelSpec& spec) {
  int64_t fewest = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe != nullptr) fewest = fewest == 0 ? moe->experts : std::min(fewest, moe->experts);
  }
  return fewest;
}

// A dense model has no experts to part: the ranks of those layouts share its layers in other ways.
std::vector<Layout> layouts_of(const ModelSpec& spec) {
  std::vector<Layout> layouts = {{.tp = 2}, {.tp = 4}, {.pp = 2}};
  if (experts_of(spec) >= 4) {
    layouts.push_back({.tp = 4, .ep = 4});
    layouts.push_back({.dp = 2, .ep = 2});
    layouts.push_back({.tp = 2, .pp = 2, .ep = 2});
  } else {
    layouts.push_back({.dp = 2});
    layouts.push_back({.tp = 2, .pp = 2});
  }
  return layouts;
}

class Families : public testing::TestWithParam<fs::path> {
 protected:
  VerifyResult run(const Layout& layout, Compute compute) const {
    VerifyOptions options;
    StartGroup& start = options.group.start;
    start.model = GetParam().string();
    start.layout = layout;
    start.compute = compute;
    start.kv_dtype = compute == Compute::fp32 ? DType::f32 : DType::bf16;
    start.threads = default_threads(layout.world());
    return verify(options);
  }
};

// A constant that is off by a little (the epsilon of one norm) hides below the tolerance of long
// prompts, where attention has amplified every rounding. A first token attends to itself alone: its
// logits carry the roundings of fp32 and nothing else (derived in verify/compare.cc).
void expect_roundings_alone(const ModelSpec& spec, const fs::path& folder,
                            const PromptCheck& check) {
  const ExpectedPrompt first = read_expected(folder / "expected.safetensors").prompts.front();
  ASSERT_EQ(first.tokens(), 1);
  const double error = check.max_abs_logit_error;
  EXPECT_EQ(amplification_of(spec, rms_of(first.logits), error), 1.0) << error;
}

TEST_P(Families, AnswerAsRecordedInEveryLayout) {
  const ModelSpec spec = load_spec(GetParam());
  if (!spec.planned_only.empty()) {
    EXPECT_THROW(run({}, Compute::fp32), Error);  // never run as something that it is not
    GTEST_SKIP() << "planned only: " << spec.planned_only;
  }
  for (const Compute compute : {Compute::fp32, Compute::bf16}) {
    const VerifyResult alone = run({}, compute);
    EXPECT_TRUE(alone.passed) << to_string(compute) << ": error " << alone.max_abs_logit_error
                              << ", tolerance " << alone.tolerance.logit;
    if (compute == Compute::fp32) expect_roundings_alone(spec, GetParam(), alone.prompts.front());
    for (const Layout& layout : layouts_of(spec)) {
      const std::string what = fmt::format("{}, {}", to_string(layout), to_string(compute));
      const VerifyResult result = run(layout, compute);
      EXPECT_TRUE(result.passed) << what;
      ASSERT_TRUE(keeps_the_same_bits(spec, layout)) << what;
      EXPECT_EQ(result.logits_hash, alone.logits_hash) << what;
    }
  }
}

// DURE_FAMILIES: a folder with more cases than ship.
fs::path case_root() {
  const char* folder = std::getenv("DURE_FAMILIES");
  return folder != nullptr ? fs::path(folder) : fs::path(DURE_SOURCE_DIR) / "testdata/models";
}

std::vector<fs::path> cases() {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(case_root())) {
    const fs::path folder = entry.path().parent_path();
    const bool gguf = folder.filename().string().starts_with("gguf-");
    if (entry.path().filename() == "expected.safetensors" &&
        (gguf || fs::exists(folder / "config.json"))) {
      folders.push_back(fs::weakly_canonical(folder));
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(FamilyCases, AreThere) {
  EXPECT_GE(cases().size(), 30u) << "in " << case_root();
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace dure
