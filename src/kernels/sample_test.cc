#include "kernels/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "kernels/philox.h"

namespace dure {
namespace {

using testing::ElementsAre;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// How often each id comes in `draws` positions, as a share.
std::map<int32_t, double> shares(const std::vector<float>& logits, const SampleSpec& spec,
                                 int draws = 20000) {
  std::map<int32_t, double> share;
  for (int i = 0; i < draws; ++i)
    share[sample(logits, spec, static_cast<uint64_t>(i))] += 1.0 / draws;
  return share;
}

std::vector<int32_t> ids(const std::map<int32_t, double>& share) {
  std::vector<int32_t> ids;
  for (const auto& [id, unused] : share) ids.push_back(id);
  return ids;
}

// A share of 20,000 draws is within 0.018 of its probability except once in 10^6 (5 deviations).
constexpr double share_tolerance = 0.018;

TEST(Philox, GivesThePublishedKnownAnswers) {  // Random123's kat_vectors
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, UsesEveryBitOfSeedAndPosition) {
  const double first = philox_uniform(0, 0);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(philox_uniform(uint64_t{1} << bit, 0), first);
    EXPECT_NE(philox_uniform(0, uint64_t{1} << bit), first);
  }
}

TEST(Sample, TemperatureComesBeforeMinP) {
  const auto logits = logits_of({.6, .3, .06, .04});
  auto share = shares(logits, {.temperature = 2.0f, .min_p = 0.1f});
  EXPECT_THAT(ids(share), ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(share[0], .438, share_tolerance);
  EXPECT_NEAR(share[1], .310, share_tolerance);
  EXPECT_NEAR(share[2], .139, share_tolerance);
  EXPECT_NEAR(share[3], .113, share_tolerance);
  EXPECT_THAT(ids(shares(logits, {.temperature = 1.0f, .min_p = 0.1f})), ElementsAre(0, 1, 2));
}

TEST(Sample, SmallTemperaturesOfAPeakedDistributionEqualGreedy) {
  std::vector<float> logits(1000, -3.0f);
  logits[417] = 30.0f;
  logits[12] = 29.0f;
  for (float temperature : {0.0f, 1e-7f, 1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f}) {
    for (uint64_t position = 0; position < 200; ++position)
      ASSERT_EQ(sample(logits, {.temperature = temperature}, position), 417) << temperature;
  }
}

TEST(Sample, ExtremeLogitsAndTemperaturesStayInRange) {
  const std::vector<float> logits = {-3e38f, 3e38f, -infinity, 0.0f};
  for (float temperature : {1e-5f, 1.0f, 3e38f}) {
    for (uint64_t position = 0; position < 100; ++position) {
      const int32_t id = sample(logits, {.temperature = temperature}, position);
      ASSERT_THAT(id, testing::AnyOf(0, 1, 3)) << temperature;
    }
  }
  EXPECT_THAT(ids(shares(logits, {.temperature = 3e38f})), ElementsAre(0, 1, 3));
}

TEST(Sample, GreedyTakesTheLowestOfEqualIds) {
  EXPECT_EQ(sample(std::vector<float>{1, 7, 7, 3}, {.temperature = 0.0f}, 5), 1);
}

TEST(Sample, RowsThatAreNoDistributionGiveMinusOne) {
  for (float temperature : {0.0f, 1.0f}) {
    const SampleSpec spec{.temperature = temperature, .top_k = 2, .top_p = .9f, .min_p = .1f};
    EXPECT_EQ(sample({}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{0, nan, 1}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{nan, nan}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{0, infinity, 1}, spec, 0), -1);
    EXPECT_EQ(sample(std::vector<float>{-infinity, -infinity}, spec, 0), -1);
  }
}

TEST(Sample, MaskedTokensAreNeverDrawn) {
  std::vector<float> logits(100, -infinity);
  logits[3] = logits[97] = -1000.0f;
  EXPECT_THAT(ids(shares(logits, {.temperature = 5.0f})), ElementsAre(3, 97));
}

TEST(Sample, TopKKeepsExactlyKAndTheLowerIdOfEquals) {
  const std::vector<float> logits = {1, 2, 0, 1, 1};
  EXPECT_THAT(ids(shares(logits, {.top_k = 1})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_k = 3})), ElementsAre(0, 1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_k = 99})), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Sample, TopPKeepsTheSmallestSetThatReachesTheMass) {
  const auto logits = logits_of({.05, .5, .15, .3});
  EXPECT_THAT(ids(shares(logits, {.top_p = 1e-6f})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_p = .49f})), ElementsAre(1));
  EXPECT_THAT(ids(shares(logits, {.top_p = .51f})), ElementsAre(1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .79f})), ElementsAre(1, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .81f})), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = .96f})), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ids(shares(logits, {.top_p = 1.0f})), ElementsAre(0, 1, 2, 3));
}

TEST(Sample, TopPIsTakenOfWhatTopKLeft) {
  // The two largest become .625 and .375: .6 of that is reached by the first alone.
  EXPECT_THAT(ids(shares(logits_of({.5, .3, .2}), {.top_k = 2, .top_p = .6f})), ElementsAre(0));
}

TEST(Sample, FrequenciesFollowTheProbabilities) {
  auto share = shares(logits_of({.1, .2, .3, .4}), {});
  for (int32_t id = 0; id < 4; ++id) EXPECT_NEAR(share[id], .1 * (id + 1), share_tolerance);
}

TEST(Sample, SameSeedAndPositionDrawTheSameTokenAndOthersDoNot) {
  std::vector<float> flat(5000, 0.0f);
  const int32_t first = sample(flat, {.seed = 9}, 77);
  EXPECT_EQ(sample(flat, {.seed = 9}, 77), first);
  EXPECT_NE(sample(flat, {.seed = 10}, 77), first);
  EXPECT_NE(sample(flat, {.seed = 9}, 78), first);
}

TEST(Sample, TopPOfALargeFlatVocabularyKeepsTheLowerIds) {
  const std::vector<float> flat(150000, 2.5f);
  for (uint64_t position = 0; position < 50; ++position)
    EXPECT_LE(sample(flat, {.top_p = .5f}, position), 75000);
}

}  // namespace
}  // namespace dure
