// The pace on a machine whose steps take what a formula says.
#include "schedule/step_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dure {
namespace {

double seconds(int32_t decodes, int32_t prompt_tokens) {
  return 0.01 + 0.001 * decodes + 0.0005 * prompt_tokens;
}

TEST(StepPace, LimitsNothingWhereNothingDecodesOrNoStretchIsSet) {
  EXPECT_GT(StepPace(2.0).most_prompt_tokens(0), 1'000'000);
  EXPECT_GT(StepPace(0.0).most_prompt_tokens(5), 1'000'000);
  EXPECT_GT(StepPace(1.0).most_prompt_tokens(5), 1'000'000);
}

TEST(StepPace, KeepsAStepWithPromptsWithinItsStretch) {
  StepPace pace(2.0);
  int mixed = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t tokens = std::min(pace.most_prompt_tokens(10), 4096);
    const double took = seconds(10, tokens);
    EXPECT_LE(took, 2.01 * seconds(10, 0)) << i;
    pace.saw(10, tokens, took);
    mixed += tokens > 0 ? 1 : 0;
  }
  EXPECT_GT(mixed, 190);
  EXPECT_NEAR(pace.most_prompt_tokens(10), 40, 1);  // 0.02 s of 0.0005 s
}

// Where there being any prompt takes longer than the stretch allows, chunks are as long as that is
// worth; and they go on, whatever they take.
TEST(StepPace, DoesNotCutPromptsWhereThatCannotHelp) {
  StepPace pace(1.5);
  pace.saw(1, 0, 0.001);
  for (int i = 0; i < 20; ++i) {
    const int32_t tokens = std::max(1, pace.most_prompt_tokens(1));
    pace.saw(1, tokens, 0.001 + 0.1 + 0.001 * tokens);
  }
  EXPECT_NEAR(pace.most_prompt_tokens(1), 100, 2);
  EXPECT_EQ(paced_tokens(1.5, 0.001, {0.0, 1.0}), 8.0);
}

// Nothing is known at first, and a noisy slope may come out as none.
TEST(StepPace, NeverTakesMoreThanTwiceTheLastChunk) {
  StepPace pace(2.0);
  pace.saw(4, 0, 1.0);
  int32_t last = 8;
  for (int i = 0; i < 8; ++i) {
    const int32_t tokens = pace.most_prompt_tokens(4);
    EXPECT_LE(tokens, 2 * last);
    pace.saw(4, tokens, 1.0);
    last = tokens;
  }
}

TEST(StepPace, LimitsNothingWhereDurationsAreNotTold) {
  StepPace pace(2.0);
  pace.saw(1, 0, 0.0);
  EXPECT_GT(pace.most_prompt_tokens(1), 1'000'000);
}

TEST(StepPace, LooksAgainNowAndThenWhatDecodingTakes) {
  StepPace pace(2.0);
  pace.saw(4, 0, 0.01);
  int probes = 0;
  for (int i = 0; i < 1000; ++i) {
    const int32_t tokens = std::min(pace.most_prompt_tokens(4), 100);
    probes += tokens == 0 ? 1 : 0;
    pace.saw(4, tokens, 0.01 + 0.0001 * tokens);
  }
  EXPECT_GE(probes, 10);
  EXPECT_LE(probes, 30);
}

}  // namespace
}  // namespace dure
