#include "trace/clock_offset.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace dure {
namespace {

TEST(ClockOffset, TrustsTheQuickestAnswer) {
  ClockOffset offset;
  EXPECT_EQ(offset.offset(), 0);
  offset.add(1000, 5'000'000, 9000);
  offset.add(20'000, 5'020'100, 20'200);  // answered in the middle: theirs is 5,000,000 ahead
  offset.add(30'000, 5'031'000, 39'000);
  EXPECT_EQ(offset.offset(), -5'000'000);
  EXPECT_EQ(offset.within(), 100);
}

TEST(ClockOffset, IsNeverWrongerThanItSays) {
  std::mt19937 dice(1);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(dice() % static_cast<unsigned>(n));
  };
  for (int run = 0; run < 1000; ++run) {
    const int64_t ahead = below(2'000'000'000) - 1'000'000'000;
    ClockOffset offset;
    int64_t now = below(1'000'000);
    for (int i = 0; i < 8; ++i) {
      const int64_t asked = now;
      const int64_t answered = asked + below(50'000);
      now = answered + below(50'000);
      offset.add(asked, answered + ahead, now);
    }
    EXPECT_LE(std::abs(offset.offset() + ahead), offset.within());
  }
}

}  // namespace
}  // namespace dure
