#include "simulate/pools.h"

#include <gtest/gtest.h>

#include "simulate/testing.h"

namespace dure {
namespace {

using testing::h200;
using testing::llama;
using testing::whole_prompt;
using testing::without_front;

ServedMeans served(int prefill_workers, int decode_workers, int concurrency,
                   double bytes_per_token = 0.0) {
  return replay_pools({llama(), {}, prefill_workers}, {llama(), {}, decode_workers},
                      {bytes_per_token, 50e9}, h200, without_front(), {concurrency, 1000, 100});
}

TEST(Pools, OfOneUserAreAPrefillAHandoverAndSteps) {
  StepLoad step;
  step.decodes = 1;
  step.decode_keys = 1000;
  const double first = step_time(llama(), h200, without_front(), whole_prompt()).total() +
                       step_time(llama(), h200, without_front(), step).total();
  EXPECT_NEAR(served(1, 1, 1).ttft, first, 1e-9);
  // 131,072 bytes a token over 50 GB/s.
  EXPECT_NEAR(served(1, 1, 1, 131072).ttft, first + 1000 * 131072 / 50e9, 1e-9);
}

// What pools are for: prompts do not hold up those who decode.
TEST(Pools, KeepPrefillsOutOfOthersSteps) {
  const ServedMeans mixed = replay(llama(), h200, without_front(), {}, {32, 1000, 100});
  EXPECT_LT(served(1, 1, 32).tpot, mixed.tpot);
}

TEST(Pools, AreFasterWithMoreWorkersWhereThoseAreShort) {
  EXPECT_LT(served(2, 2, 64).ttft, served(1, 2, 64).ttft);
  EXPECT_LT(served(2, 2, 64).tpot, served(2, 1, 64).tpot);
}

TEST(Pools, KeepTheNumberInFlight) {
  const ServedMeans means = served(2, 1, 32);
  EXPECT_NEAR(means.tokens_per_s / 100 * (means.ttft + 98 * means.tpot), 32, 32 * 0.12);
}

TEST(Pools, GiveTheSameAnswerTwice) {
  EXPECT_EQ(served(1, 3, 17).ttft, served(1, 3, 17).ttft);
  EXPECT_EQ(served(1, 3, 17).tokens_per_s, served(1, 3, 17).tokens_per_s);
}

}  // namespace
}  // namespace dure
