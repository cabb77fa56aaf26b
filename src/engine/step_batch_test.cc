#include "engine/step_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const StepLimits limits{.vocab = 10,
                        .context = 64,
                        .pages = 4,
                        .states = 2,
                        .page_tokens = 16,
                        .classes = {PageClass{}},
                        .max_batch_tokens = 6};
constexpr Layout two_groups{.dp = 2};

Slice slice_of(int dp, int start, std::vector<int32_t> tokens, std::vector<int32_t> pages) {
  Slice slice;
  slice.dp = dp;
  slice.start = start;
  slice.tokens = std::move(tokens);
  slice.tables = {{0, std::move(pages)}};
  return slice;
}

std::string refusal(const Slice& slice, const StepLimits& has = limits) {
  Step step;
  step.id = 7;
  step.slices.push_back(slice);
  try {
    batch_of(step, two_groups, place_of(two_groups, 0), has);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

TEST(StepBatch, HoldsTheRowsOfItsOwnDpGroupAndTheCountsOfAll) {
  Step step;
  step.slices.push_back(slice_of(1, 0, {1, 2, 3}, {0}));
  step.slices.push_back(slice_of(0, 15, {4, 5}, {3, 1}));
  step.slices.push_back(slice_of(1, 5, {6}, {2}));
  step.slices.back().state = 1;
  const StepBatch batch = batch_of(step, two_groups, place_of(two_groups, 1), limits);
  EXPECT_THAT(batch.batch.tokens, ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(batch.batch.positions, ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(batch.batch.rows_of_dp, ElementsAre(2, 4));
  ASSERT_EQ(batch.batch.slices.size(), 1u);
  const std::vector<AttentionSlice>& slices = batch.batch.slices[0];
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].row, 3);
  EXPECT_EQ(slices[1].start, 5);
  ASSERT_EQ(batch.batch.states.size(), 2u);
  EXPECT_EQ(batch.batch.states[1].row, 3);
  EXPECT_EQ(batch.batch.states[1].tokens, 1);
  EXPECT_EQ(batch.batch.states[1].start, 5);
  EXPECT_EQ(batch.batch.states[1].state, 1);
}

TEST(StepBatch, AGroupWithoutTokensStillKnowsTheOthers) {
  Step step;
  step.slices.push_back(slice_of(1, 0, {1}, {0}));
  const StepBatch batch = batch_of(step, two_groups, place_of(two_groups, 0), limits);
  EXPECT_EQ(batch.batch.rows(), 0);
  EXPECT_THAT(batch.batch.rows_of_dp, ElementsAre(0, 1));
}

TEST(StepBatch, RefusesWhatTheGroupDoesNotHave) {
  EXPECT_THAT(refusal(slice_of(0, 0, {10}, {0})), HasSubstr("token 10"));
  EXPECT_THAT(refusal(slice_of(0, 0, {-1}, {0})), HasSubstr("token -1"));
  EXPECT_THAT(refusal(slice_of(0, 0, {1}, {4})), HasSubstr("page 4"));
  EXPECT_THAT(refusal(slice_of(0, 16, {1}, {0})), HasSubstr("pages 0 to 1 where 0 to 2"));
  EXPECT_THAT(refusal(slice_of(2, 0, {1}, {0})), HasSubstr("dp group 2"));
  EXPECT_THAT(refusal(slice_of(0, 64, {1}, {0, 1, 2, 3, 0})), HasSubstr("context"));
  EXPECT_THAT(refusal(slice_of(0, 0, {}, {0})), HasSubstr("no tokens"));
  EXPECT_THAT(refusal(slice_of(0, 0, {1, 1, 1, 1, 1, 1, 1}, {0})), HasSubstr("buffers for 6"));
  EXPECT_THAT(refusal(slice_of(0, 0, {1, 1, 1, 1, 1, 1}, {0})), HasSubstr("accepted"));
}

TEST(StepBatch, HasThePagesOfEveryTable) {
  StepLimits windowed = limits;
  windowed.classes = {PageClass{}, {.reach = 8, .tables = 2}};
  Slice slice = slice_of(0, 30, {1, 2, 3}, {3, 2, 1});
  slice.tables.push_back({1, {0, 2}});
  EXPECT_THAT(refusal(slice, windowed), HasSubstr("only 2 page tables"));
  slice.tables.push_back({1, {1, 0}});
  Step step;
  step.slices.push_back(slice);
  const StepBatch batch = batch_of(step, two_groups, place_of(two_groups, 0), windowed);
  ASSERT_EQ(batch.batch.slices.size(), 3u);
  EXPECT_EQ(batch.batch.slices[0][0].page_of(2), 1);
  EXPECT_EQ(batch.batch.slices[1][0].page_of(2), 2);
  EXPECT_EQ(batch.batch.slices[2][0].page_of(1), 1);
  EXPECT_THAT(refusal(slice), HasSubstr("3 page tables where 1 are needed"));
  slice.tables[2].first = 2;  // position 30 sees 23
  EXPECT_THAT(refusal(slice, windowed), HasSubstr("table 2: pages 2 to 4 where 1 to 3"));
  slice.tables[2] = {1, {1}};
  EXPECT_THAT(refusal(slice, windowed), HasSubstr("pages 1 to 2 where 1 to 3"));
  slice.tables[2] = {-1, {1, 1, 1, 1}};
  EXPECT_THAT(refusal(slice, windowed), HasSubstr("pages -1 to 3"));
  slice.tables[2] = {1, {1, 4}};
  EXPECT_THAT(refusal(slice, windowed), HasSubstr("page 4 of 4"));
}

TEST(StepBatch, RefusesTwoSequencesInOneState) {
  Step step;
  step.slices.push_back(slice_of(0, 0, {1}, {0}));
  step.slices.push_back(slice_of(1, 0, {1}, {0}));  // of another group: its own
  EXPECT_EQ(batch_of(step, two_groups, place_of(two_groups, 0), limits).batch.rows(), 1);
  step.slices.push_back(slice_of(0, 0, {1}, {1}));
  EXPECT_THROW(batch_of(step, two_groups, place_of(two_groups, 0), limits), Error);
  step.slices.back().state = 1;
  EXPECT_EQ(batch_of(step, two_groups, place_of(two_groups, 0), limits).batch.rows(), 2);
}

}  // namespace
}  // namespace dure
