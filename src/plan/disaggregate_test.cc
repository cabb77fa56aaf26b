#include "plan/disaggregate.h"

#include <gmock/gmock.h>

#include "plan/testing.h"

namespace dure {
namespace {

using testing::asked;
using ::testing::HasSubstr;

std::optional<PoolPlan> pools_of(const testing::Asked& ask, std::string& why) {
  const PlanModel model(ask.spec, ask.question);
  const Found found = search(model, ask.question, {});
  return best_pools(model, ask.question, found.fits, why);
}

TEST(Pools, StayWithinTheGpusAndKeepTheLimits) {
  auto ask = asked("llama-3.1-70b", "h100", 16, 64);
  ask.question.ttft_limit = 2.0;
  ask.question.tpot_limit = 0.03;
  std::string why;
  const auto pools = pools_of(ask, why);
  ASSERT_TRUE(pools) << why;
  EXPECT_LE(pools->gpus(), 16);
  EXPECT_TRUE(pools->meets_limits);
  EXPECT_LE(pools->service.tpot, 0.03);
  EXPECT_LE(pools->service.ttft, 2.0);
}

TEST(Pools, ShiftToPrefillWithLongPromptsAndToDecodeWithLongAnswers) {
  const auto share_of_prefill = [](int64_t input, int64_t output) {
    auto ask = asked("llama-3.1-8b", "h100", 8, 64);
    ask.question.input = input;
    ask.question.output = output;
    std::string why;
    const auto pools = pools_of(ask, why);
    EXPECT_TRUE(pools) << why;
    return static_cast<double>(pools->prefill.gpus()) / pools->gpus();
  };
  EXPECT_GT(share_of_prefill(8000, 100), 0.5);
  EXPECT_LE(share_of_prefill(200, 2000), 0.5);
}

TEST(Pools, TakeLongerToHandOverOnSlowNics) {
  auto ask = asked("llama-3.1-70b", "h100", 16, 16);
  const PlanModel model(ask.spec, ask.question);
  std::string why;
  const auto pools = pools_of(ask, why);
  ASSERT_TRUE(pools) << why;
  const PlannedLayout fast = describe_pools(model, ask.question, *pools);
  // 80 layers × 8 heads × 2 × 128 × 2 bytes for each of 2000 tokens.
  EXPECT_EQ(fast.pools->transfer_bytes, int64_t{327680} * 2000);
  ask.question.nic /= 10;
  const PlannedLayout slow = describe_pools(model, ask.question, *pools);
  EXPECT_NEAR(slow.pools->transfer, 10 * fast.pools->transfer, 1e-9);
  EXPECT_LE(fast.pools->prefill.busy, 1.05);
  EXPECT_LE(fast.pools->decode.busy, 1.0);
}

TEST(Pools, AreNotPlannedWhereTwoWorkersDoNotFit) {
  std::string why;
  EXPECT_FALSE(pools_of(asked("llama-3.1-70b", "h100", 2, 8), why));
  EXPECT_THAT(why, HasSubstr("no two workers that hold the model"));
  EXPECT_FALSE(pools_of(asked("llama-3.1-8b", "h100", 12, 8), why));
  EXPECT_THAT(why, HasSubstr("unequal nodes: 12 GPUs, 8 a node"));
}

TEST(Pools, AreRankedAmongLayouts) {
  auto ask = asked("llama-3.1-70b", "h100", 16, 64);
  ask.question.disaggregate = true;
  const PlanAnswer answer = testing::answered(ask);
  size_t count = 0;
  for (size_t i = 0; i < answer.ranked.size(); ++i) {
    count += answer.ranked[i].pools.has_value() ? 1 : 0;
    if (i == 0) continue;
    EXPECT_GE(answer.ranked[i - 1].service.tokens_per_s, answer.ranked[i].service.tokens_per_s);
  }
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace dure
