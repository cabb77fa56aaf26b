// Lengths as people write them, and what is drawn.
#include "load/lengths.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "base/error.h"

namespace dure::load {
namespace {

std::vector<int64_t> drawn(const char* text, int count) {
  const Lengths lengths = Lengths::parse(text, "--input");
  Draws draws(1, DrawPurpose::lengths);
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(lengths.draw(draws));
  return values;
}

double mean_of(const std::vector<int64_t>& values) {
  double sum = 0.0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

TEST(Lengths, AreFixedOrInARange) {
  EXPECT_THAT(drawn("128", 3), ::testing::Each(128));
  EXPECT_THAT(drawn("30K", 1), ::testing::Each(30000));
  const std::vector<int64_t> range = drawn("20..23", 4000);
  EXPECT_THAT(range, ::testing::Each(::testing::AllOf(::testing::Ge(20), ::testing::Le(23))));
  EXPECT_NEAR(mean_of(range), 21.5, 0.1);  // 5 standard errors
  for (int64_t value = 20; value <= 23; ++value) EXPECT_THAT(range, ::testing::Contains(value));
}

TEST(Lengths, OfANormalDistributionHaveItsMeanAndDeviationAndAreNeverBelowOne) {
  const std::vector<int64_t> values = drawn("512~64", 10000);
  const double mean = mean_of(values);
  double squares = 0.0;
  for (const int64_t value : values) {
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  }
  EXPECT_NEAR(mean, 512.0, 3.2);  // 5 standard errors
  EXPECT_NEAR(std::sqrt(squares / 10000.0), 64.0, 2.3);
  EXPECT_THAT(drawn("2~50", 1000), ::testing::Each(::testing::Ge(1)));
}

TEST(Lengths, OfAMixtureAreDrawnByWeight) {
  std::map<int64_t, int> counts;
  for (const int64_t value : drawn("128:9,30000:1", 10000)) ++counts[value];
  EXPECT_EQ(counts.size(), 2);
  EXPECT_NEAR(counts[30000], 1000, 150);  // 5 standard deviations
}

TEST(Lengths, ThatCannotBeMeantAreRefused) {
  for (const char* text :
       {"", "0", "-3", "x", "5..", "..5", "9..3", "1,", "1:", "1:0", "1:-1", "1:nan", "1:x", "10~",
        "20000000", "1..20000000", "1e99", "1 2", "128:9;1"}) {
    EXPECT_THROW(Lengths::parse(text, "--input"), Error) << text;
  }
}

TEST(Draws, OfOneSeedArePairwiseDifferentStreams) {
  EXPECT_EQ(Draws(7, DrawPurpose::words, 3).next(), Draws(7, DrawPurpose::words, 3).next());
  EXPECT_NE(Draws(7, DrawPurpose::words, 3).next(), Draws(7, DrawPurpose::words, 4).next());
  EXPECT_NE(Draws(7, DrawPurpose::words, 3).next(), Draws(7, DrawPurpose::order, 3).next());
  EXPECT_NE(Draws(7, DrawPurpose::words, 3).next(), Draws(8, DrawPurpose::words, 3).next());
}

TEST(Draws, StayInTheirRanges) {
  Draws draws(1, DrawPurpose::order);
  for (int i = 0; i < 100000; ++i) {
    const double uniform = draws.uniform();
    ASSERT_TRUE(uniform >= 0.0 && uniform < 1.0);
    ASSERT_GE(draws.exponential(2.0), 0.0);
    const int64_t between = draws.between(-2, 2);
    ASSERT_TRUE(between >= -2 && between <= 2);
  }
}

}  // namespace
}  // namespace dure::load
