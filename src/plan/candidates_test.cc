#include "plan/candidates.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "plan/testing.h"

namespace dure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

ModelSpec preset(const std::string& name) {
  return spec_of(*find_preset(name));
}

TEST(Candidates, AreAllSplitsIntoPowersOfTwo) {
  const auto dense = candidate_layouts(preset("llama-3.1-70b"), 8, false);
  EXPECT_EQ(dense.size(), 10);  // tp × pp of 1, 2, 4, 8 with at most 8 ranks
  const auto mixture = candidate_layouts(preset("mixtral-8x7b"), 4, false);
  EXPECT_THAT(mixture, Contains(Layout{1, 1, 4, 4}));
  EXPECT_THAT(mixture, Contains(Layout{2, 1, 2, 1}));
  EXPECT_THAT(mixture, Contains(Layout{1, 4, 1, 1}));
  for (const Layout& layout : mixture) {
    EXPECT_LE(layout.world(), 4);
    EXPECT_EQ(layout.stage_ranks() % layout.ep, 0);
  }
}

TEST(Candidates, CutUnevenlyWhereTheGpusAre) {
  const auto ten = candidate_layouts(preset("mixtral-8x7b"), 10, false);
  EXPECT_THAT(ten, Contains(Layout{5, 1, 1, 1}));
  EXPECT_THAT(ten, Contains(Layout{5, 2, 1, 5}));
  EXPECT_THAT(ten, Contains(Layout{1, 1, 10, 1}));
  EXPECT_THAT(ten, Not(Contains(Layout{3, 1, 1, 1})));
  EXPECT_THAT(candidate_layouts(preset("mixtral-8x7b"), 10, true), Contains(Layout{3, 3, 1, 1}));
}

TEST(Candidates, HaveNoMoreStagesThanLayersAndNoMoreExpertRanksThanExperts) {
  for (const Layout& layout : candidate_layouts(preset("mixtral-8x7b"), 256, false)) {
    EXPECT_LE(layout.pp, 32);
    EXPECT_LE(layout.ep, 8);
  }
}

TEST(Placement, LiesWithinANodeOrOnWholeEqualNodes) {
  const Placement small = place({2, 1, 1, 1}, 12, 8);  // a node of 8 and one of 4
  EXPECT_EQ(small.replicas, 6);
  EXPECT_EQ(small.idle, 0);
  EXPECT_EQ(small.nodes_each, 1);
  const Placement three = place({3, 1, 1, 1}, 12, 8);
  EXPECT_EQ(three.replicas, 3);  // two on the node of 8, one on that of 4
  EXPECT_EQ(three.idle, 3);
  const Placement wide = place({8, 2, 1, 1}, 32, 8);
  EXPECT_EQ(wide.replicas, 2);
  EXPECT_EQ(wide.nodes_each, 2);
  EXPECT_EQ(wide.ranks_per_node, 8);
  const Placement ten = place({5, 2, 1, 1}, 16, 8);  // five on each of two nodes
  EXPECT_EQ(ten.replicas, 1);
  EXPECT_EQ(ten.ranks_per_node, 5);
  EXPECT_EQ(ten.idle, 6);
}

TEST(Placement, IsRefusedOnUnequalShares) {
  const Placement unequal = place({12, 1, 1, 1}, 12, 8);
  EXPECT_EQ(unequal.replicas, 0);
  EXPECT_EQ(unequal.why, "12 ranks need 2 equal nodes: 12 GPUs are 1 of 8 and one of 4");
  const Placement prime = place({1, 11, 1, 1}, 16, 8);
  EXPECT_EQ(prime.replicas, 0);
  EXPECT_THAT(prime.why, HasSubstr("11 ranks do not divide over 2 nodes"));
  const Placement astride = place({4, 1, 3, 1}, 12, 6);  // ranks 4 and 5 here, 6 and 7 there
  EXPECT_EQ(astride.replicas, 0);
  EXPECT_EQ(astride.why, "groups of tp 4 would lie across nodes of 6 ranks");
  EXPECT_EQ(place({12, 1, 1, 1}, 12, 6).replicas, 1);
}

TEST(Engines, RefuseSplitsThatTheyDoNotHave) {
  const ModelSpec v3 = preset("deepseek-v3");
  const auto why = [&](const Layout& layout, Engine engine) {
    return engine_refuses(v3, layout, engine, std::nullopt).value_or("");
  };
  EXPECT_EQ(why({8, 1, 1, 8}, Engine::vllm), "");
  EXPECT_EQ(why({8, 1, 1, 1}, Engine::vllm), "");
  EXPECT_THAT(why({8, 1, 1, 4}, Engine::vllm), HasSubstr("not ep 4"));
  EXPECT_EQ(why({8, 1, 1, 4}, Engine::sglang), "");
  EXPECT_THAT(why({2, 1, 4, 8}, Engine::trtllm), HasSubstr("not tp 2 × dp 4"));
  EXPECT_EQ(why({1, 1, 8, 8}, Engine::trtllm), "");
  EXPECT_THAT(why({3, 1, 1, 1}, Engine::vllm), HasSubstr("128 heads do not divide over tp 3"));
  EXPECT_EQ(why({3, 1, 1, 1}, Engine::dure), "");
}

TEST(Engines, DoNotCutBlocksThatShareAScale) {
  const ModelSpec spec = preset("qwen3-235b-a22b-fp8");  // experts 1536 wide, blocks of 128
  const auto fp8 = find_weight_format("fp8");
  EXPECT_THAT(engine_refuses(spec, {8, 1, 1, 1}, Engine::vllm, fp8).value_or(""),
              HasSubstr("experts of width 1536 over 8 ranks cut the blocks of 128"));
  EXPECT_FALSE(engine_refuses(spec, {4, 1, 1, 1}, Engine::vllm, fp8));
  EXPECT_FALSE(engine_refuses(spec, {8, 1, 1, 8}, Engine::vllm, fp8));
}

}  // namespace
}  // namespace dure
