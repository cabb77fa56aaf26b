// Bounded experts through real ranks: the same slots are dropped or moved in every layout whose dp
// group holds the rows, and they are the ones that a simulation of the rule names.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/json.h"
#include "cluster/this_machine.h"
#include "group/group.h"
#include "model/load_spec.h"
#include "verify/verify.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

fs::path model_folder(const std::string& model) {
  return fs::path(DURE_SOURCE_DIR) / "testdata/models" / model;
}

GroupOptions options_of(const fs::path& model, const Layout& layout, ExpertCapacity capacity) {
  GroupOptions options;
  options.start.model = model.string();
  options.start.layout = layout;
  options.start.compute = Compute::fp32;
  options.start.kv_dtype = DType::f32;
  options.start.threads = default_threads(layout.world());
  options.start.capacity = capacity;
  return options;
}

VerifyResult run(const std::string& model, const Layout& layout, ExpertCapacity capacity) {
  VerifyOptions options;
  options.group = options_of(model_folder(model), layout, capacity);
  return verify(options);
}

class BoundedExperts : public testing::TestWithParam<std::string> {};

// One sequence runs at a time, so one dp group has all rows whatever the layout.
TEST_P(BoundedExperts, GiveTheSameBitsInEveryLayout) {
  const VerifyResult unbounded = run(GetParam(), {}, {});
  for (const ExpertOverflow overflow : {ExpertOverflow::drop, ExpertOverflow::next}) {
    const VerifyResult alone = run(GetParam(), {}, {0.75, overflow});
    EXPECT_GT(alone.stats.dropped_slots, 0);
    EXPECT_EQ(alone.stats.moved_slots > 0, overflow == ExpertOverflow::next);
    EXPECT_NE(alone.logits_hash, unbounded.logits_hash);
    for (const Layout& layout :
         {Layout{.tp = 2, .ep = 2}, Layout{.tp = 4, .ep = 2}, Layout{.tp = 2, .pp = 2},
          Layout{.dp = 2, .ep = 2}, Layout{.tp = 2, .dp = 2, .ep = 4}}) {
      const VerifyResult result = run(GetParam(), layout, {0.75, overflow});
      EXPECT_EQ(result.logits_hash, alone.logits_hash) << to_string(layout);
      EXPECT_EQ(result.stats.dropped_slots, alone.stats.dropped_slots) << to_string(layout);
      EXPECT_EQ(result.stats.moved_slots, alone.stats.moved_slots) << to_string(layout);
    }
  }
}

TEST_P(BoundedExperts, ChangeNothingWhereTheBoundIsLarge) {
  const VerifyResult result = run(GetParam(), {.tp = 2, .ep = 2}, {1000.0, ExpertOverflow::next});
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.logits_hash, run(GetParam(), {}, {}).logits_hash);
  EXPECT_EQ(result.stats.dropped_slots + result.stats.moved_slots, 0);
}

// Biases of experts; groups of experts and corrections; weights on the inputs; scales of experts.
INSTANTIATE_TEST_SUITE_P(OfFamilies, BoundedExperts,
                         testing::Values("gpt-oss-bf16", "deepseek-v3", "llama4-text",
                                         "gemma4-moe-text"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A copy of a model whose config says otherwise.
class Variant {
 public:
  Variant(const std::string& model, const std::string& key, int value)
      : folder_(fs::temp_directory_path() / fmt::format("dure-capacity-{}", getpid())) {
    fs::create_directories(folder_);
    Json config = read_json_file(model_folder(model) / "config.json");
    config[key] = value;
    std::ofstream(folder_ / "config.json") << config.dump();
    for (const fs::directory_entry& file : fs::directory_iterator(model_folder(model))) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("model")) fs::create_symlink(file.path(), folder_ / name);
    }
  }
  ~Variant() { fs::remove_all(folder_); }
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

constexpr int rows = 48;

// The routes of one step's rows.
TracedSlice trace(GroupOptions options) {
  options.start.page_tokens = 16;
  options.start.pages = rows / 16;
  options.start.states = 1;
  options.start.context = rows;
  options.start.max_batch_tokens = rows;
  BlockingGroup group(options, {});
  Slice slice;
  for (int i = 0; i < rows; ++i) slice.tokens.push_back((i * i + 7) % 100);
  slice.tables = {{0, {0, 1, 2}}};
  slice.length = rows;
  slice.want = Want::all_logits;
  Step step;
  step.slices.push_back(slice);
  return group.run(std::move(step)).slices.at(0).trace.value();
}

// The router of the first layer reads the same rows whatever the bound, so a run that routes every
// row to all experts tells what each would have weighed, and where a row may go instead.
TEST(BoundedExpertsOfOneLayer, AreThoseThatTheRuleNames) {
  const std::string model = "qwen3-moe";
  const ModelSpec spec = load_spec(model_folder(model));
  const auto& moe = std::get<MoeFfn>(spec.layers.at(0).ffn);
  ASSERT_TRUE(moe.router.normalize);
  const auto experts = static_cast<size_t>(moe.experts);
  const auto top_k = static_cast<size_t>(moe.top_k);
  const Variant to_all(model, "num_experts_per_tok", static_cast<int>(moe.experts));
  const TracedSlice all = trace(options_of(to_all.folder(), {}, {}));
  const auto places = static_cast<int64_t>(
      std::ceil(0.8 * rows * static_cast<double>(moe.top_k) / static_cast<double>(moe.experts)));

  for (const ExpertOverflow overflow : {ExpertOverflow::drop, ExpertOverflow::next}) {
    const TracedSlice got = trace(options_of(model_folder(model), {}, {0.8, overflow}));
    std::vector<int64_t> taken(experts, 0);
    int64_t full = 0;
    for (size_t row = 0; row < rows; ++row) {
      const int32_t* ranked = all.expert_ids.data() + row * experts;
      const float* share = all.expert_weights.data() + row * experts;
      const float sum = std::accumulate(share, share + top_k, 0.0f);
      size_t next = top_k;  // the first in the ranking that the row may still turn to
      for (size_t slot = 0; slot < top_k; ++slot) {
        size_t at = slot;
        if (taken[static_cast<size_t>(ranked[slot])] == places) {
          ++full;
          at = overflow == ExpertOverflow::next ? next : experts;
          while (at < experts && taken[static_cast<size_t>(ranked[at])] == places) ++at;
          next = std::max(next, at + 1);
        }
        const int32_t id = got.expert_ids.at(row * top_k + slot);
        const float weight = got.expert_weights.at(row * top_k + slot);
        if (at >= experts) {
          EXPECT_EQ(id, -1) << row << ' ' << slot;
          EXPECT_EQ(weight, 0.0f) << row << ' ' << slot;
          continue;
        }
        ++taken[static_cast<size_t>(ranked[at])];
        EXPECT_EQ(id, ranked[at]) << row << ' ' << slot;
        EXPECT_NEAR(weight, share[at] / sum, 1e-5f) << row << ' ' << slot;
      }
    }
    EXPECT_GT(full, 5);
  }
}

}  // namespace
}  // namespace dure
