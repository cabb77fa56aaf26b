#include "engine/step_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::ElementsAre;

Step step_of(uint64_t id, const std::vector<int>& dps, Want want = Want::token) {
  Step step;
  step.id = id;
  for (const int dp : dps) {
    Slice slice;
    slice.dp = dp;
    slice.want = want;
    step.slices.push_back(slice);
  }
  return step;
}

StepDone part_of(uint64_t id, const std::vector<int32_t>& tokens) {
  StepDone part;
  part.id = id;
  for (const int32_t token : tokens) {
    SliceResult result;
    result.token = token;
    part.slices.push_back(result);
  }
  return part;
}

std::vector<int32_t> tokens_of(const StepDone& done) {
  std::vector<int32_t> tokens;
  for (const SliceResult& slice : done.slices) tokens.push_back(slice.token);
  return tokens;
}

// pp 2 × dp 2: ranks 2 and 3 are the last stage.
constexpr Layout layout{.pp = 2, .dp = 2};

TEST(StepCollector, AnswersInTheStepsOrderOnceEveryDpGroupHasSpoken) {
  StepCollector collector(layout);
  collector.expect(step_of(1, {1, 0, 1}));
  EXPECT_FALSE(collector.add(3, part_of(1, {10, 11})));
  EXPECT_TRUE(collector.pending());
  const auto done = collector.add(2, part_of(1, {20}));
  ASSERT_TRUE(done);
  EXPECT_THAT(tokens_of(*done), ElementsAre(10, 20, 11));
  EXPECT_FALSE(collector.pending());
}

TEST(StepCollector, KeepsSeveralStepsInFlightApart) {
  StepCollector collector(layout);
  collector.expect(step_of(1, {0}));
  collector.expect(step_of(2, {0}));
  EXPECT_FALSE(collector.add(2, part_of(1, {5})));
  EXPECT_FALSE(collector.add(2, part_of(2, {6})));
  EXPECT_THAT(tokens_of(*collector.add(3, part_of(1, {}))), ElementsAre(5));
  EXPECT_THAT(tokens_of(*collector.add(3, part_of(2, {}))), ElementsAre(6));
}

TEST(StepCollector, PutsTheRoutesOfAllStagesInLayerOrder) {
  StepCollector collector(layout);
  collector.expect(step_of(1, {0}, Want::all_logits));
  const auto traced = [](int32_t token, int32_t expert, std::vector<float> logits) {
    StepDone part = part_of(1, {token});
    part.slices[0].trace = TracedSlice{2, 1, 1, std::move(logits), {expert}, {1.0f}};
    return part;
  };
  EXPECT_FALSE(collector.add(2, traced(9, 4, {0.5f, 0.25f})));  // the last stage may be first
  EXPECT_FALSE(collector.add(1, part_of(1, {})));
  EXPECT_FALSE(collector.add(3, part_of(1, {})));
  const auto done = collector.add(0, traced(-1, 3, {}));
  ASSERT_TRUE(done);
  const TracedSlice& trace = done->slices.at(0).trace.value();
  EXPECT_EQ(done->slices[0].token, 9);
  EXPECT_EQ(trace.moe_layers, 2);
  EXPECT_THAT(trace.expert_ids, ElementsAre(3, 4));
  EXPECT_THAT(trace.logits, ElementsAre(0.5f, 0.25f));
}

TEST(StepCollector, RefusesAnAnswerToNothing) {
  StepCollector collector(layout);
  EXPECT_THROW(collector.add(2, part_of(1, {5})), Error);
}

}  // namespace
}  // namespace dure
