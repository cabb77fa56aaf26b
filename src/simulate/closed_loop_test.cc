#include "simulate/closed_loop.h"

#include <gtest/gtest.h>

#include "simulate/testing.h"

namespace dure {
namespace {

using testing::h200;
using testing::llama;
using testing::whole_prompt;
using testing::without_front;

ServedMeans served(StepPolicy scheduler, int concurrency, double cache_tokens = 1e18) {
  return replay(llama(), h200, without_front(), {.policy = scheduler, .cache_tokens = cache_tokens},
                {concurrency, 1000, 100});
}

// Alone, a request waits for one prefill and then for its own decode steps.
TEST(ClosedLoop, OfOneUserIsOnePrefillAndThenSteps) {
  const TimeConstants constants = without_front();
  StepLoad decode;
  decode.decodes = 1;
  decode.decode_keys = 1000 + 49.5;
  const ServedMeans means = served(StepPolicy::mixed, 1);
  EXPECT_NEAR(means.ttft, step_time(llama(), h200, constants, whole_prompt()).total(), 1e-9);
  EXPECT_NEAR(means.tpot, step_time(llama(), h200, constants, decode).total(), 1e-6);
  EXPECT_NEAR(means.tokens_per_s, 100 / (means.ttft + 99 * means.tpot), 1e-6);
}

TEST(ClosedLoop, SlowsEachUserAndServesMoreInAll) {
  for (const StepPolicy scheduler :
       {StepPolicy::mixed, StepPolicy::prompts_first, StepPolicy::whole_prompts}) {
    const ServedMeans few = served(scheduler, 4);
    const ServedMeans many = served(scheduler, 64);
    EXPECT_GT(many.tpot, few.tpot);
    EXPECT_GT(many.ttft, few.ttft);
    EXPECT_GT(many.tokens_per_s, 2 * few.tokens_per_s);
  }
}

// Little's law: requests in flight are their rate times their time.
TEST(ClosedLoop, KeepsTheNumberInFlight) {
  const ServedMeans means = served(StepPolicy::mixed, 32);
  const double rate = means.tokens_per_s / 100;
  EXPECT_NEAR(rate * (means.ttft + 99 * means.tpot), 32, 32 * 0.12);  // the run's tail drains
}

// With room for two, the others wait for first tokens, but those inside are as fast as two.
TEST(ClosedLoop, StopsAdmittingWhereTheCacheEnds) {
  const ServedMeans means = served(StepPolicy::mixed, 16, 2 * 1100);
  const ServedMeans two = served(StepPolicy::mixed, 2);
  EXPECT_NEAR(means.tpot, two.tpot, two.tpot * 0.1);
  EXPECT_GT(means.ttft, 5 * (two.ttft + 99 * two.tpot));
}

TEST(ClosedLoop, ServesARequestLargerThanTheCacheAlone) {
  EXPECT_GT(served(StepPolicy::mixed, 3, 10).tokens_per_s, 0.0);
}

TEST(ClosedLoop, GivesTheSameAnswerTwice) {
  const ServedMeans a = served(StepPolicy::prompts_first, 8);
  const ServedMeans b = served(StepPolicy::prompts_first, 8);
  EXPECT_EQ(a.ttft, b.ttft);
  EXPECT_EQ(a.tpot, b.tpot);
}

}  // namespace
}  // namespace dure
