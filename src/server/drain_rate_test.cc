// When refused clients are told to come again.
#include "server/drain_rate.h"

#include <gtest/gtest.h>

namespace dure {
namespace {

using std::chrono::seconds;

TEST(DrainRate, SaysOneSecondWhileNothingIsKnown) {
  DrainRate rate;
  const auto start = DrainRate::Clock::time_point{};
  EXPECT_EQ(rate.retry_after_s(start, 0, 100), 1);
  rate.note(start, 5);
  EXPECT_EQ(rate.retry_after_s(start + seconds(9), 5, 100), 1);
}

TEST(DrainRate, SaysHowLongTheQueueTakesAtTheRateOfTheLastMinute) {
  DrainRate rate;
  const auto start = DrainRate::Clock::time_point{};
  rate.note(start, 0);
  rate.note(start + seconds(10), 20);  // two a second
  EXPECT_EQ(rate.retry_after_s(start + seconds(20), 40, 31), 16);
  EXPECT_EQ(rate.retry_after_s(start + seconds(20), 40, 1), 1);
  EXPECT_EQ(rate.retry_after_s(start + seconds(20), 40, 100'000), 60);
}

TEST(DrainRate, ForgetsWhatWasLongAgo) {
  DrainRate rate;
  const auto start = DrainRate::Clock::time_point{};
  rate.note(start, 0);
  for (int second = 1; second <= 200; ++second) {
    rate.note(start + seconds(second), second <= 100 ? second * 100 : 10'000 + (second - 100));
  }
  EXPECT_EQ(rate.retry_after_s(start + seconds(200), 10'100, 20), 20);  // one a second now
}

}  // namespace
}  // namespace dure
