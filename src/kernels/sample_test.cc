// What every instruction set's sampling must do, case by case; sample_definition_test.cc compares
// it with its definition.
#include "kernels/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

using testing::ElementsAre;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// A share of 20,000 draws is within 0.018 of its probability except once in 10^6 (5 deviations).
constexpr double share_tolerance = 0.018;

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<int32_t> ids(const std::map<int32_t, double>& share) {
  std::vector<int32_t> ids;
  for (const auto& [id, unused] : share) ids.push_back(id);
  return ids;
}

class Sample : public testing::TestWithParam<std::string> {
 protected:
  SampledRow run(const std::vector<float>& logits, SampleRow row) const {
    SampledRow result;
    row.logits = logits.data();
    backend_->sample({&row, 1}, static_cast<int64_t>(logits.size()), &result);
    return result;
  }

  int32_t sample(const std::vector<float>& logits, const SampleSpec& spec, uint64_t position,
                 const LogitRules& rules = {}) const {
    SampleRow row;
    row.spec = spec;
    row.rules = rules;
    row.position = position;
    return run(logits, row).token;
  }

  // How often each id comes in `draws` positions, as a share.
  std::map<int32_t, double> shares(const std::vector<float>& logits, const SampleSpec& spec,
                                   const LogitRules& rules = {}, int draws = 20000) const {
    std::map<int32_t, double> share;
    for (int i = 0; i < draws; ++i) {
      share[sample(logits, spec, static_cast<uint64_t>(i), rules)] += 1.0 / draws;
    }
    return share;
  }

  // Greedy: no draw hides what the rules do.
  int32_t greedy(const std::vector<float>& logits, const LogitRules& rules) const {
    return sample(logits, {.temperature = 0.0f}, 0, rules);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1, GetParam());
};

TEST_P(Sample, TemperatureComesBeforeMinP) {
  const auto logits = logits_of({.6, .3, .06, .04});
  auto share = shares(logits, {.temperature = 2.0f, .min_p = 0.1f});
  EXPECT_THAT(ids(share), ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(share[0], .438, share_tolerance);
  EXPECT_NEAR(share[1], .310, share_tolerance);
  EXPECT_NEAR(share[2], .139, share_tolerance);
  EXPECT_NEAR(share[3], .113, share_tolerance);
  EXPECT_THAT(ids(shares(logits, {.temperature = 1.0f, .min_p = 0.1f})), ElementsAre(0, 1, 2));
}

TEST_P(Sample, SmallTemperaturesOfAPeakedDistributionEqualGreedy) {
  std::vector<float> logits(1000, -3.0f);
  logits[417] = 30.0f;
  logits[12] = 29.0f;
  for (float temperature : {0.0f, 1e-7f, 1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f}) {
    for (uint64_t position = 0; position < 200; ++position)
      ASSERT_EQ(sample(logits, {.temperature = temperature}, position), 417) << temperature;
  }
}

TEST_P(Sample, ExtremeLogitsAndTemperaturesStayInRange) {
  const std::vector<float> logits = {-3e38f, 3e38f, -infinity, 0.0f};
  for (float temperature : {1e-5f, 1.0f, 3e38f}) {
    for (uint64_t position = 0; position < 100; ++position) {
      const int32_t id = sample(logits, {.temperature = temperature}, position);
      ASSERT_THAT(id, testing::AnyOf(0, 1, 3)) << temperature;
    }
  }
  EXPECT_THAT(ids(shares(logits, {.temperature = 3e38f})), ElementsAre(0, 1, 3));
}

TEST_P(Sample, GreedyTakesTheLowestOfEqualIds) {
  EXPECT_EQ(sample(std::vector<float>{1, 7, 7, 3}, {.temperature = 0.0f}, 5), 1);
}

TEST_P(Sample, RowsThatAreNoDistributionGiveMinusOne) {
  for (float temperature : {0.0f, 1.0f}) {
    const SampleSpec spec{.temperature = temperature, .top_k = 2, .top_p = .9f, .min_p = .1f};
    EXPECT_EQ(sample({}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{0, nan, 1}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{nan, nan}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{0, infinity, 1}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{-infinity, -infinity}, spec, 0), -1);
  }
}

TEST_P(Sample, MaskedTokensAreNeverDrawn) {
  std::vector<float> logits(100, -infinity);
  logits[3] = logits[97] = -1000.0f;
  EXPECT_THAT(ids(shares(logits, {.temperature = 5.0f})), ElementsAre(3, 97));
}

TEST_P(Sample, TopKKeepsExactlyKAndTheLowerIdOfEquals) {
  const std::vector<float> logits = {1, 2, 0, 1, 1};
  EXPECT_THAT(ids(shares(logits, {.top_k = 1})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_k = 3})), ElementsAre(0, 1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_k = 99})), ElementsAre(0, 1, 2, 3, 4));
}

TEST_P(Sample, TopPKeepsTheSmallestSetThatReachesTheMass) {
  const auto logits = logits_of({.05, .5, .15, .3});
  EXPECT_THAT(ids(shares(logits, {.top_p = 1e-6f})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_p = .49f})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_p = .51f})), ElementsAre(1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .79f})), ElementsAre(1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .81f})), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .96f})), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = 1.0f})), ElementsAre(0, 1, 2, 3));
}

TEST_P(Sample, TopPIsTakenOfWhatTopKLeft) {
  // The two largest become .625 and .375: .6 of that is reached by the first alone.
  EXPECT_THAT(ids(shares(logits_of({.5, .3, .2}), {.top_k = 2, .top_p = .6f})), ElementsAre(0));
}

TEST_P(Sample, SharesFollowTheProbabilities) {
  auto share = shares(logits_of({.1, .2, .3, .4}), {});
  for (int32_t id = 0; id < 4; ++id) EXPECT_NEAR(share[id], .1 * (id + 1), share_tolerance);
}

TEST_P(Sample, SameSeedAndPositionDrawTheSameTokenAndOthersDoNot) {
  std::vector<float> flat(5000, 0.0f);
  const int32_t first = sample(flat, {.seed = 9}, 77);
  EXPECT_EQ(sample(flat, {.seed = 9}, 77), first);
  EXPECT_NE(sample(flat, {.seed = 10}, 77), first);
  EXPECT_NE(sample(flat, {.seed = 9}, 78), first);
}

TEST_P(Sample, TopPOfALargeFlatVocabularyKeepsTheLowerIds) {
  const std::vector<float> flat(150000, 2.5f);
  for (uint64_t position = 0; position < 50; ++position)
    EXPECT_LE(sample(flat, {.top_p = .5f}, position), 75000);
}

TEST_P(Sample, MinPComesBeforeTopP) {
  // Of .5 .3 .2 min_p .5 leaves .625 and .375, and .6 of that is reached by the first alone.
  EXPECT_THAT(ids(shares(logits_of({.5, .3, .2}), {.top_p = .6f, .min_p = .5f})), ElementsAre(0));
  EXPECT_THAT(ids(shares(logits_of({.5, .3, .2}), {.top_p = .6f})), ElementsAre(0, 1));
}

TEST_P(Sample, OnlyAllowedTokensOfTheMaskAreDrawn) {
  const std::vector<float> flat(130, 0.0f);
  const std::vector<uint64_t> mask = {uint64_t{1} << 63, 6, ~uint64_t{0}};
  const std::vector<int32_t> allowed = {3, 63, 66, 100, 129, 66};
  EXPECT_THAT(ids(shares(flat, {}, {.mask = mask})), ElementsAre(63, 65, 66, 128, 129));
  EXPECT_THAT(ids(shares(flat, {}, {.allowed = allowed})), ElementsAre(3, 63, 66, 100, 129));
  EXPECT_THAT(ids(shares(flat, {}, {.mask = mask, .allowed = allowed})), ElementsAre(63, 66, 129));
  const std::vector<int32_t> forbidden = {63, 129};
  EXPECT_EQ(greedy(flat, {.mask = mask, .allowed = allowed, .forbidden = forbidden}), 66);
}

TEST_P(Sample, RulesThatLeaveNothingSayThat) {
  const std::vector<float> logits = {1, 2, 3};
  const std::vector<uint64_t> none = {0};
  const std::vector<uint64_t> one = {2};
  const std::vector<int32_t> forbidden = {1};
  for (float temperature : {0.0f, 1.0f}) {
    const SampleSpec spec{.temperature = temperature};
    EXPECT_EQ(sample(logits, spec, 0, {.mask = none}), nothing_allowed);
    EXPECT_EQ(sample(logits, spec, 0, {.mask = one, .forbidden = forbidden}), nothing_allowed);
    EXPECT_EQ(sample({1, nan, 3}, spec, 0, {.mask = none}), no_distribution);
  }
}

TEST_P(Sample, ABiasMovesALogitAndDoesNotRaiseTheImpossible) {
  const std::vector<float> logits = {1, 2, -infinity, 4};
  const std::vector<TokenBias> up = {{0, 3.5f}, {2, 100.0f}};
  EXPECT_EQ(greedy(logits, {.bias = up}), 0);
  const std::vector<TokenBias> down = {{3, -100.0f}};
  EXPECT_EQ(greedy(logits, {.bias = down}), 1);
  const std::vector<int32_t> forbidden = {3};
  const std::vector<TokenBias> raise = {{3, 100.0f}};
  EXPECT_EQ(greedy(logits, {.forbidden = forbidden, .bias = raise}), 1);
}

TEST_P(Sample, RepetitionDividesWhatIsAboveZeroAndMultipliesTheRest) {
  const std::vector<SeenToken> seen = {{0, 0}, {1, 2}};
  EXPECT_EQ(greedy({6, 5, 4}, {.seen = seen, .repetition = 1.4f}), 0);     // 4.29 3.57 4
  EXPECT_EQ(greedy({6, 5, 4}, {.seen = seen, .repetition = 1.6f}), 2);     // 3.75 3.13 4
  EXPECT_EQ(greedy({-6, -5, -7}, {.seen = seen, .repetition = 1.1f}), 1);  // -6.6 -5.5 -7
  EXPECT_EQ(greedy({-6, -5, -7}, {.seen = seen, .repetition = 1.5f}), 2);  // -9 -7.5 -7
  EXPECT_EQ(greedy({6, 5, 9}, {.seen = seen, .repetition = 0.5f}), 0);     // 12 10 9
}

TEST_P(Sample, FrequencyCountsAndPresenceDoesNotAndThePromptIsNeither) {
  const std::vector<SeenToken> seen = {{0, 3}, {1, 1}, {2, 0}};
  EXPECT_EQ(greedy({6, 5, 0}, {.seen = seen, .frequency = 0.4f}), 0);     // 4.8 4.6
  EXPECT_EQ(greedy({6, 5, 0}, {.seen = seen, .frequency = 0.6f}), 1);     // 4.2 4.4
  EXPECT_EQ(greedy({6, 5, 4.5}, {.seen = seen, .presence = 1.4f}), 0);    // 4.6 3.6 4.5
  EXPECT_EQ(greedy({6, 5, 4.5}, {.seen = seen, .presence = 1.6f}), 2);    // 4.4 3.4 4.5
  EXPECT_EQ(greedy({4, 5, 4.5}, {.seen = seen, .frequency = -1.0f}), 0);  // 7 6 4.5
}

TEST_P(Sample, BiasComesBeforePenaltiesAndPenaltiesBeforeTemperature) {
  const std::vector<TokenBias> bias = {{0, 4.0f}};
  const std::vector<SeenToken> seen = {{0, 1}};
  // (-2 + 4) / 2 = 1; the other way round it would be -2 * 2 + 4 = 0.
  EXPECT_EQ(greedy({-2, 0.5}, {.bias = bias, .seen = seen, .repetition = 2.0f}), 0);
  // ln .8 - 1 to ln .2 at temperature 2 are .595 to .405 shares of 1; before it: .546.
  const auto share =
      shares(logits_of({.8, .2}), {.temperature = 2.0f}, {.seen = seen, .presence = 1.0f});
  const double odds = std::sqrt(4.0 * std::exp(-1.0));
  EXPECT_NEAR(share.at(0), odds / (1 + odds), share_tolerance);
}

TEST_P(Sample, LogprobsAreOfTheRawLogits) {
  const std::vector<double> probabilities = {.1, .4, .3, .2};
  const std::vector<int32_t> forbidden = {1};
  SampleRow row;
  row.spec.temperature = 0.0f;
  row.rules.forbidden = forbidden;
  row.logprobs = 2;
  const SampledRow result = run(logits_of(probabilities), row);
  EXPECT_EQ(result.token, 2);
  EXPECT_NEAR(result.logprob, std::log(.3), 1e-6);
  EXPECT_EQ(result.rank, 2);
  ASSERT_EQ(result.top.size(), 2u);
  EXPECT_EQ(result.top[0].token, 1);
  EXPECT_NEAR(result.top[0].logprob, std::log(.4), 1e-6);
  EXPECT_EQ(result.top[1].token, 2);
  EXPECT_EQ(result.top[1].logprob, result.logprob);
}

TEST_P(Sample, LogprobsOfAGivenTokenNeedNoDraw) {
  SampleRow row;
  row.given = 0;
  row.logprobs = 0;
  const SampledRow result = run(logits_of({.25, .5, .25}), row);
  EXPECT_EQ(result.token, 0);
  EXPECT_NEAR(result.logprob, std::log(.25), 1e-6);
  EXPECT_EQ(result.rank, 2);
  EXPECT_TRUE(result.top.empty());
  EXPECT_EQ(run({1, nan, 2}, row).token, no_distribution);
}

TEST_P(Sample, EqualAlternativesComeLowerIdFirstAndImpossibleOnesNotAtAll) {
  SampleRow row;
  row.spec.temperature = 0.0f;
  row.logprobs = 5;
  const SampledRow result = run({3, 7, -infinity, 7, 3, -infinity}, row);
  std::vector<int32_t> tokens;
  for (const TokenLogprob& each : result.top) tokens.push_back(each.token);
  EXPECT_THAT(tokens, ElementsAre(1, 3, 0, 4));
  EXPECT_EQ(result.rank, 1);
}

TEST_P(Sample, NeitherBatchNorThreadsChangeARow) {
  constexpr int64_t vocab = 3001;
  constexpr int rows = 40;
  const std::vector<float> logits = random_floats(rows * vocab, 5);
  std::vector<SampleRow> batch;
  for (int i = 0; i < rows; ++i) {
    SampleRow row;
    row.logits = logits.data() + i * vocab;
    row.spec = {1.0f, i % 3 == 0 ? 50 : 0, i % 2 == 0 ? 0.9f : 1.0f, i % 5 == 0 ? 0.5f : 0.0f, 7};
    row.position = static_cast<uint64_t>(i);
    row.logprobs = i % 4 - 1;
    batch.push_back(row);
  }
  const auto threaded = make_cpu_backend(3, GetParam());
  std::vector<SampledRow> together(rows);
  threaded->sample(batch, vocab, together.data());
  for (size_t i = 0; i < batch.size(); ++i) {
    SampledRow alone;
    backend_->sample({&batch[i], 1}, vocab, &alone);
    EXPECT_EQ(together[i].token, alone.token);
    EXPECT_EQ(together[i].logprob, alone.logprob);
    EXPECT_EQ(together[i].rank, alone.rank);
    ASSERT_EQ(together[i].top.size(), alone.top.size());
    for (size_t j = 0; j < alone.top.size(); ++j) {
      EXPECT_EQ(together[i].top[j].token, alone.top[j].token);
      EXPECT_EQ(together[i].top[j].logprob, alone.top[j].logprob);
    }
  }
}

std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const std::string_view isa : cpu_isas()) names.emplace_back(isa);
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Sample, testing::ValuesIn(isas()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace dure
