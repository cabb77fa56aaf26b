#include "cost/balance.h"

#include <gmock/gmock.h>

#include <optional>

#include "model/presets.h"

namespace dure {
namespace {

// 1,000 operations for each byte read.
GpuSpeed round_gpu() {
  GpuSpeed gpu;
  gpu.memory = 1e12;
  gpu.bf16 = 1e15;
  gpu.fp8 = 2e15;
  gpu.fp4 = 4e15;
  return gpu;
}

MatrixWork matrix(double weights, double bytes, MathUnit unit) {
  return {weights * bytes, 2.0 * weights, unit};
}

StepWork dense_work(double bytes, MathUnit unit) {
  LayerWork layer;
  layer.layers = 3;
  layer.dense = matrix(5e6, bytes, unit);
  StepWork work;
  work.kinds = {layer};
  return work;
}

StepWork mixture(double experts, double top_k, const Layout& layout = {}) {
  LayerWork layer;
  layer.layers = 2;
  layer.expert = matrix(1e6, 2.0, MathUnit::bf16);
  layer.experts = experts;
  layer.experts_held = experts / layout.ep;
  layer.top_k = top_k;
  StepWork work;
  work.kinds = {layer};
  work.layout = layout;
  return work;
}

const PartBalance* part_of(const Balance& balance, Operation part) {
  for (const PartBalance& each : balance.parts) {
    if (each.part == part) return &each;
  }
  return nullptr;
}

// bf16: 2 operations for 2 bytes of each weight and token, 1,000 tokens until 1,000 operations a
// byte. fp8: half the bytes and twice the speed. Where there are no units for fp4, as 4-bit weights
// on bf16 units: a quarter of the bytes, a quarter of the tokens.
TEST(Balance, OfDenseWeightsIsTheGpusOperationsPerByteOverTheirs) {
  EXPECT_NEAR(balance_of(dense_work(2.0, MathUnit::bf16), round_gpu(), 1).dense, 1000, 1e-6);
  EXPECT_NEAR(balance_of(dense_work(1.0, MathUnit::fp8), round_gpu(), 1).dense, 1000, 1e-6);
  EXPECT_NEAR(balance_of(dense_work(0.5, MathUnit::fp4), round_gpu(), 1).dense, 1000, 1e-6);
  EXPECT_NEAR(balance_of(dense_work(0.5, MathUnit::bf16), round_gpu(), 1).dense, 250, 1e-6);
  EXPECT_EQ(balance_of(dense_work(2.0, MathUnit::bf16), round_gpu(), 1).experts, 0);
}

// 989.4e12 / 3.35e12 and 2250e12 / 7.7e12 operations per byte.
TEST(Balance, OfABf16ModelIsAbout295TokensOnAnH100) {
  const StepWork work = work_of(spec_of(*find_preset("llama-3.1-405b")), {.tp = 8}, Numbers{});
  EXPECT_NEAR(balance_of(work, *find_gpu("h100").speed, 1).whole, 295.3, 0.1);
  EXPECT_NEAR(balance_of(work, *find_gpu("b200").speed, 1).whole, 292.2, 0.1);
}

TEST(Balance, SaysWhichSideABatchIsOn) {
  const StepWork work = dense_work(2.0, MathUnit::bf16);
  const Balance below = balance_of(work, round_gpu(), 500);
  const Balance above = balance_of(work, round_gpu(), 2000);
  EXPECT_EQ(below.bound, Bound::memory);
  EXPECT_EQ(above.bound, Bound::compute);
  const PartBalance* part = part_of(below, Operation::feed_forward);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part_of(below, Operation::experts), nullptr);
  // 3 × 5e6 weights: 30 MB in 30 µs; 500 tokens × 30e6 operations in 15 µs
  EXPECT_DOUBLE_EQ(part->read_seconds, 30e-6);
  EXPECT_DOUBLE_EQ(part->math_seconds, 15e-6);
  EXPECT_EQ(part->bound(), Bound::memory);
  EXPECT_DOUBLE_EQ(part_of(above, Operation::feed_forward)->math_seconds, 60e-6);
}

TEST(Balance, OfAMixtureIsExpertsOverTopKTimesThatOfADenseModel) {
  EXPECT_NEAR(balance_of(mixture(64, 2), round_gpu(), 1).experts, 32 * 1000, 0.01);
  EXPECT_NEAR(balance_of(mixture(256, 8), round_gpu(), 1).experts, 32 * 1000, 0.01);
  EXPECT_NEAR(balance_of(mixture(8, 2), round_gpu(), 1).experts, 4 * 1000, 0.01);
}

// Wherever the experts lie, each sees the tokens of all dp ranks.
TEST(Balance, OfExpertsIsReachedSoonerWhereDpRanksSendTheirTokensTogether) {
  const Layout layout{.dp = 8, .ep = 8};
  EXPECT_NEAR(balance_of(mixture(64, 2, layout), round_gpu(), 1).experts, 32 * 1000 / 8, 0.01);
}

// 8 experts, 2 chosen: 1 token reads 2; 2 tokens 8 × (1 − 0.75²) = 3.5; 10 tokens 7.549.
TEST(Balance, CountsOnlyExpertsThatSomeTokenChose) {
  EXPECT_DOUBLE_EQ(distinct_experts(8, 2, 0), 0);
  EXPECT_DOUBLE_EQ(distinct_experts(8, 2, 1), 2);
  EXPECT_DOUBLE_EQ(distinct_experts(8, 2, 2), 3.5);
  EXPECT_NEAR(distinct_experts(8, 2, 10), 7.5495, 1e-4);
  EXPECT_NEAR(distinct_experts(8, 2, 1000), 8, 1e-9);
  EXPECT_DOUBLE_EQ(distinct_experts(4, 4, 1), 4);
  const Balance one = balance_of(mixture(8, 2), round_gpu(), 1);
  // 2 layers × 2 experts × 2 MB
  EXPECT_DOUBLE_EQ(part_of(one, Operation::experts)->read_seconds, 8e-6);
  EXPECT_DOUBLE_EQ(part_of(one, Operation::experts)->math_seconds, 8e-9);
}

// A GPU of two operations per byte: at 2 rows an expert both sides are equal. With few tokens not
// all 8 experts are read, so the balance is below 2 × 8 / 2 = 8 tokens: T × 2 = 2 × 8 × (1 −
// 0.75^T) has its root at T = 6.9014.
TEST(Balance, OfThinBatchesCountsThatExpertsAreLeftOut) {
  GpuSpeed slow = round_gpu();
  slow.bf16 = 2e12;
  EXPECT_NEAR(balance_of(mixture(8, 2), slow, 1).experts, 6.9014, 1e-3);
}

TEST(Balance, IsBelowOneTokenWhereComputingIsSlowest) {
  GpuSpeed slow = round_gpu();
  slow.bf16 = 0.5e12;
  EXPECT_DOUBLE_EQ(balance_of(dense_work(2.0, MathUnit::bf16), slow, 1).dense, 0.5);
  EXPECT_DOUBLE_EQ(balance_of(mixture(8, 2), slow, 1).experts, 0.5);
}

TEST(Balance, OfAReleasedMixtureLiesBetweenItsParts) {
  const StepWork work =
      work_of(spec_of(*find_preset("deepseek-v3")), {.dp = 8, .ep = 8},
              Numbers{{1.0, MathUnit::fp8}, {1.0, MathUnit::fp8}, {1.0, MathUnit::fp8}, 2.0});
  const Balance balance = balance_of(work, *find_gpu("h200").speed, 64);
  // 1978.9 / 4.8 / 2 = 206 rows an expert, 32 times as many tokens over 8 dp ranks
  EXPECT_NEAR(balance.experts, 206.1 * 32 / 8, 2);
  EXPECT_GT(balance.dense, 200);
  EXPECT_LT(balance.dense, 300) << "the head stays in bf16";
  EXPECT_GT(balance.whole, balance.dense);
  EXPECT_LT(balance.whole, balance.experts);
  EXPECT_EQ(balance.bound, Bound::memory);
  EXPECT_EQ(balance.parts.size(), 4);
}

}  // namespace
}  // namespace dure
