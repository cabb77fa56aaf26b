#include "simulate/scheduled_loop.h"

#include <gtest/gtest.h>

#include "simulate/testing.h"

namespace dure {
namespace {

using testing::h200;
using testing::llama;

ServedMeans served(StepPolicy policy, int concurrency, double cache_tokens = 1e6,
                   double stretch = 0.0) {
  EngineModel engine{.policy = policy, .cache_tokens = cache_tokens};
  engine.stretch = stretch;
  return replay(llama(), h200, TimeConstants{}, engine, {concurrency, 1000, 100});
}

// The class and the model of mixed steps follow the same rules where the cache is no limit: decodes
// first, then prompts in order of arrival up to the budget.
TEST(ScheduledLoop, AgreesWithTheModelOfMixedSteps) {
  for (const int concurrency : {1, 4, 16, 64}) {
    const ServedMeans own = served(StepPolicy::dure, concurrency);
    const ServedMeans model = served(StepPolicy::mixed, concurrency);
    EXPECT_NEAR(own.tpot, model.tpot, 0.03 * model.tpot) << concurrency;
    EXPECT_NEAR(own.ttft, model.ttft, 0.1 * model.ttft) << concurrency;
    EXPECT_NEAR(own.tokens_per_s, model.tokens_per_s, 0.03 * model.tokens_per_s) << concurrency;
  }
}

// The class learns what a prompt's token takes; the model knows it.
TEST(ScheduledLoop, AgreesWithTheModelWherePromptsAreHeldBack) {
  for (const int concurrency : {4, 16, 64}) {
    const ServedMeans own = served(StepPolicy::dure, concurrency, 1e6, 1.8);
    const ServedMeans model = served(StepPolicy::mixed, concurrency, 1e6, 1.8);
    EXPECT_NEAR(own.tpot, model.tpot, 0.1 * model.tpot) << concurrency;
    EXPECT_NEAR(own.ttft, model.ttft, 0.2 * model.ttft) << concurrency;
    EXPECT_NEAR(own.tokens_per_s, model.tokens_per_s, 0.1 * model.tokens_per_s) << concurrency;
  }
}

TEST(ScheduledLoop, WaitsWhereTheCacheEnds) {
  const ServedMeans means = served(StepPolicy::dure, 16, 2 * 1120);
  EXPECT_GT(means.ttft, 4 * served(StepPolicy::dure, 2).ttft);
}

TEST(ScheduledLoop, ServesARequestLargerThanTheCache) {
  EXPECT_GT(served(StepPolicy::dure, 3, 10).tokens_per_s, 0.0);
}

TEST(ScheduledLoop, GivesTheSameAnswerTwice) {
  EXPECT_EQ(served(StepPolicy::dure, 8).ttft, served(StepPolicy::dure, 8).ttft);
  EXPECT_EQ(served(StepPolicy::dure, 8).tpot, served(StepPolicy::dure, 8).tpot);
}

}  // namespace
}  // namespace dure
