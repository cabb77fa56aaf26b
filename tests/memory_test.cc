// The number you plan with is the number you run with: bytes of every running rank as the planner
// and `dure fit` say, to the byte, and a peak while loading that stays near it.
#include "cost/memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "group/group.h"
#include "model/checkpoint.h"
#include "model/load_spec.h"
#include "random_model.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

// About 430 MB: large beside what a process takes anyway.
class Memory : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / fmt::format("dure-memory-test-{}", getpid());
    write_random_model(folder_, {});
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static DType kv_of(Compute compute) {
    return compute == Compute::fp32 ? DType::f32 : DType::bf16;
  }

  static GroupReady start(const Layout& layout, Compute compute, DType kv,
                          std::shared_ptr<WeightKeeper> keeper = nullptr) {
    GroupOptions options;
    options.keeper = std::move(keeper);
    options.start.model = folder_.string();
    options.start.layout = layout;
    options.start.compute = compute;
    options.start.kv_dtype = kv;
    options.start.pages = 64;
    options.start.max_batch_tokens = 256;
    return BlockingGroup(options).ready();
  }

  static RunShape shape_of(Compute compute, DType kv) {
    RunShape shape;
    shape.compute = compute;
    shape.kv_element_bytes = bytes_of(kv);
    shape.pages = 64;
    shape.max_batch_tokens = 256;
    return shape;
  }

  static inline fs::path folder_;
};

TEST_F(Memory, OfRunningRanksIsWhatThePlannerSays) {
  const ModelSpec spec = load_spec(folder_);
  const std::vector<Weight> weights = bind_inventory(spec, *CheckpointReader::open(folder_));
  for (const Layout& layout :
       {Layout{}, Layout{.tp = 2, .pp = 2, .ep = 2}, Layout{.tp = 3}, Layout{.dp = 2, .ep = 2}}) {
    for (const Compute compute : {Compute::bf16, Compute::fp32}) {
      const GroupReady ready = start(layout, compute, kv_of(compute));
      ASSERT_EQ(static_cast<int>(ready.ranks.size()), layout.world());
      for (const RankReport& rank : ready.ranks) {
        SCOPED_TRACE(fmt::format("{}, rank {}", to_string(layout), rank.rank));
        const RankMemory planned =
            rank_memory(weights, spec, layout, rank.rank, shape_of(compute, kv_of(compute)));
        EXPECT_EQ(rank.weight_bytes, planned.weights + planned.padding);
        EXPECT_EQ(rank.kv_bytes, planned.kv);
        EXPECT_EQ(rank.activation_bytes, planned.activation);
        EXPECT_EQ(rank.communication_bytes, planned.communication);
        const int64_t share = planned.weights + planned.padding + planned.kv + planned.activation +
                              planned.communication;
        EXPECT_LE(rank.peak_rss_bytes, share + share / 10 + (int64_t{64} << 20));
      }
    }
  }
}

TEST_F(Memory, OfACacheInFp8IsHalfOfOneInBf16AndWhatThePlannerSays) {
  const ModelSpec spec = load_spec(folder_);
  const std::vector<Weight> weights = bind_inventory(spec, *CheckpointReader::open(folder_));
  const Layout layout{.tp = 2};
  const GroupReady half = start(layout, Compute::bf16, DType::fp8);
  const GroupReady whole = start(layout, Compute::bf16, DType::bf16);
  for (size_t i = 0; i < half.ranks.size(); ++i) {
    const RankMemory planned =
        rank_memory(weights, spec, layout, half.ranks[i].rank, shape_of(Compute::bf16, DType::fp8));
    EXPECT_EQ(half.ranks[i].kv_bytes, planned.kv);
    EXPECT_EQ(half.ranks[i].kv_bytes * 2, whole.ranks[i].kv_bytes);
    EXPECT_EQ(half.ranks[i].activation_bytes, planned.activation);
  }
}

// Shared with the keeper, there is still one copy of the weights, when they are loaded and when a
// second group takes them over.
TEST_F(Memory, OfRanksWhoseWeightsAreKeptIsTheSame) {
  const ModelSpec spec = load_spec(folder_);
  const std::vector<Weight> weights = bind_inventory(spec, *CheckpointReader::open(folder_));
  const auto keeper = std::make_shared<WeightKeeper>("", "");
  const Layout layout = {.tp = 2, .ep = 2};
  for (int life = 0; life < 2; ++life) {
    for (const RankReport& rank : start(layout, Compute::bf16, DType::bf16, keeper).ranks) {
      const RankMemory planned =
          rank_memory(weights, spec, layout, rank.rank, shape_of(Compute::bf16, DType::bf16));
      EXPECT_EQ(rank.weight_bytes, planned.weights + planned.padding);
      EXPECT_EQ(rank.kept_bytes, life == 0 ? 0 : rank.weight_bytes);
      EXPECT_LE(rank.peak_rss_bytes,
                planned.total() - planned.overhead + planned.total() / 10 + (int64_t{64} << 20));
    }
  }
}

TEST_F(Memory, OfRunningRanksIsWhatFitPrints) {
  const std::string command =
      fmt::format("{} fit {} --gpu cpu --tp 2 --ep 2 --json", DURE_PROGRAM, folder_.string());
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  ASSERT_EQ(pclose(pipe), 0);
  const Json printed = parse_json(text, "dure fit");
  const GroupReady ready = start({.tp = 2, .ep = 2}, Compute::bf16, DType::bf16);
  for (const RankReport& rank : ready.ranks) {
    const Json& row = printed.at("ranks").at(static_cast<size_t>(rank.rank));
    EXPECT_EQ(row.at("weights").get<int64_t>() + row.at("padding").get<int64_t>(),
              rank.weight_bytes);
  }
}

}  // namespace
}  // namespace dure
