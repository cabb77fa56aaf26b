#include "verify/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dure {
namespace {

// Two positions of two logits; one MoE layer that sends each token to two experts.
ExpectedPrompt expected_prompt() {
  ExpectedPrompt expected;
  expected.name = "p0";
  expected.input_ids = {1, 2};
  expected.logits = {1.0f, 2.0f, 3.0f, 4.0f};
  expected.greedy = {7, 8, 9};
  expected.greedy_margin = {1.0f, 0.5f, 1e-6f};
  expected.router_ids = {0, 3, 1, 2};
  expected.router_weights = {0.5f, 0.5f, 0.5f, 0.5f};
  expected.router_margin = {0.2f, 1e-6f};
  return expected;
}

TracedSlice answer() {
  return {2, 1, 2, {1.0f, 2.0f, 3.0f, 4.0f}, {3, 0, 2, 1}, {0.5f, 0.5f, 0.5f, 0.5f}};
}

const Tolerance tolerance{1e-3, 1e-3, 1e-3};

PromptCheck check(const TracedSlice& got, const std::vector<int32_t>& tokens) {
  PromptCheck check = compare_prefill(expected_prompt(), 2, got, tolerance);
  compare_greedy(expected_prompt(), tokens, tolerance, &check);
  return check;
}

TEST(Compare, AcceptsTheRecordWhateverTheSlotOrder) {
  const PromptCheck result = check(answer(), {7, 8, 9});
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.routes_agreed, 2);
  EXPECT_EQ(result.greedy_steps, 2);  // the third has no margin
}

TEST(Compare, FindsAWrongLogitAndAWrongToken) {
  TracedSlice got = answer();
  got.logits[3] += 0.01f;
  EXPECT_FALSE(check(got, {7, 8, 9}).passed);
  EXPECT_FALSE(check(answer(), {7, 1, 9}).passed);
  EXPECT_FALSE(check(answer(), {7}).passed);
  EXPECT_TRUE(check(answer(), {7, 8, 1}).passed);  // where the margin is noise, any token will do
}

TEST(Compare, FindsNotANumber) {
  TracedSlice got = answer();
  got.logits[0] = NAN;
  EXPECT_FALSE(check(got, {7, 8, 9}).passed);
}

TEST(Compare, ExcusesARouteOnlyWhereItsMarginIsNoise) {
  TracedSlice got = answer();
  got.expert_ids[2] = 0;  // position 1, margin 1e-6
  got.logits[2] = 99.0f;  // which changes everything from there on
  const PromptCheck excused = check(got, {7, 8, 9});
  EXPECT_TRUE(excused.passed);
  EXPECT_EQ(excused.positions_compared, 1);
  got = answer();
  got.expert_ids[0] = 1;  // position 0, margin 0.2
  EXPECT_FALSE(check(got, {7, 8, 9}).passed);
}

TEST(Compare, HoldsNoTokensToTheRecordAfterAnExcusedLastPosition) {
  TracedSlice got = answer();
  got.expert_ids[2] = 0;  // position 1, the last, margin 1e-6
  const PromptCheck excused = check(got, {7, 1, 9});
  EXPECT_TRUE(excused.passed);
  EXPECT_EQ(excused.greedy_steps, 1);
  EXPECT_EQ(excused.greedy_matched, 1);
}

TEST(Compare, ExcusesOtherKeysOnlyWhereTheChoiceWasClose) {
  ExpectedPrompt expected = expected_prompt();
  TracedSlice got = answer();
  got.logits[2] = 99.0f;  // position 1
  const auto checked = [&](std::vector<float> index_margin) {
    expected.index_margin = std::move(index_margin);  // of two layers
    PromptCheck result = compare_prefill(expected, 2, got, tolerance);
    compare_greedy(expected, {7, 8, 9}, tolerance, &result);
    return result;
  };
  EXPECT_FALSE(checked({INFINITY, 0.1f, INFINITY, 0.1f}).passed);
  EXPECT_TRUE(checked({INFINITY, 0.1f, INFINITY, 1e-6f}).passed);
  EXPECT_EQ(checked({INFINITY, 0.1f, INFINITY, 1e-6f}).positions_compared, 1);
  got.expert_ids[3] = 0;  // other keys may well lead to another route, whatever its margin
  expected.router_margin = {0.2f, 0.2f};
  EXPECT_TRUE(checked({INFINITY, 0.1f, INFINITY, 1e-6f}).passed);
  EXPECT_FALSE(checked({INFINITY, 0.1f, INFINITY, 0.1f}).passed);
  got = answer();  // where nothing differs, all is compared
  EXPECT_EQ(checked({1e-6f, 1e-6f, 1e-6f, 1e-6f}).positions_compared, 2);
}

TEST(Compare, RefusesAnAnswerOfAnotherShape) {
  TracedSlice got = answer();
  got.logits.pop_back();
  EXPECT_FALSE(check(got, {7, 8, 9}).passed);
  got = answer();
  got.expert_ids.clear();
  EXPECT_FALSE(check(got, {7, 8, 9}).passed);
}

TEST(Tolerance, GrowsWithTheStepsOfTheCache) {
  ModelSpec spec;
  spec.layers.resize(4);
  const auto logit = [&](Compute compute, DType kv) {
    return tolerance_for(compute, kv, spec, 2.0).logit;
  };
  EXPECT_EQ(logit(Compute::fp32, DType::f32), 1e-3);
  // Nine roundings of 2^-8 a layer and one more; two of 2^-4 outweigh them.
  EXPECT_NEAR(logit(Compute::bf16, DType::bf16), 20 * std::sqrt(37 / 3.0) * 0x1p-8, 1e-12);
  EXPECT_NEAR(logit(Compute::fp32, DType::fp8), 20 * std::sqrt(8 / 3.0) * 0x1p-4 + 1e-3, 1e-12);
  EXPECT_NEAR(logit(Compute::bf16, DType::fp8),
              20 * std::sqrt(29 / 3.0 * 0x1p-16 + 8 / 3.0 * 0x1p-8), 1e-12);
  spec.dtype = DType::f16;  // seven roundings of matrices a layer, and the head's
  EXPECT_NEAR(logit(Compute::bf16, DType::bf16), 20 * std::sqrt(66 / 3.0) * 0x1p-8, 1e-12);
  EXPECT_EQ(logit(Compute::fp32, DType::f32), 1e-3);
}

TEST(Tolerance, GrowsWithTheStepsOfCodes) {
  ModelSpec spec;
  spec.layers.resize(4);
  const Tolerance exact = tolerance_for(Compute::fp32, DType::f32, spec, 2.0);
  EXPECT_EQ(quantized(exact, CodeFormat::none, Compute::fp32, spec, 2.0).logit, exact.logit);
  const auto logit = [&](CodeFormat codes, Compute compute) {
    return quantized(exact, codes, compute, spec, 2.0).logit;
  };
  // 29 products; weights alone in fp32, inputs too in production.
  const double step = 20 * std::sqrt(29 / 12.0) * 2.5;
  EXPECT_NEAR(logit(CodeFormat::q8, Compute::fp32), step / 127, 1e-5);
  EXPECT_NEAR(logit(CodeFormat::q8, Compute::bf16), step / 127 * std::sqrt(2.0), 1e-5);
  EXPECT_NEAR(logit(CodeFormat::q4, Compute::fp32), step / 8, 1e-5);
}

}  // namespace
}  // namespace dure
