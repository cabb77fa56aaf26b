#include "server/expert_balance.h"

#include <gtest/gtest.h>

namespace dure {
namespace {

using std::chrono::seconds;

// Layer 2, two ranks.
GroupStats loads(int64_t first, int64_t second) {
  GroupStats made;
  made.ranks.resize(2);
  made.ranks[0].experts = {{2, 0, {first, 0}}};
  made.ranks[1].experts = {{2, 2, {0, second}}};
  return made;
}

double ratio(const ExpertBalance& balance) {
  return balance.ratios().at(0).ratio;
}

constexpr ExpertBalance::Time start{std::chrono::hours(1)};

TEST(ExpertBalance, IsTheBusiestRanksShareOfTheMean) {
  ExpertBalance balance;
  EXPECT_TRUE(balance.ratios().empty());  // no layer has experts
  balance.heard(loads(0, 0), start);
  EXPECT_EQ(ratio(balance), 1.0);
  balance.heard(loads(30, 10), start + seconds(1));
  EXPECT_EQ(balance.ratios()[0].layer, 2);
  EXPECT_EQ(ratio(balance), 1.5);
  balance.heard(loads(30, 30), start + seconds(2));
  EXPECT_EQ(ratio(balance), 1.0);
}

TEST(ExpertBalance, ForgetsWhatIsTwoMinutesOld) {
  ExpertBalance balance;
  balance.heard(loads(0, 0), start);
  balance.heard(loads(1000, 1000), start + seconds(59));
  EXPECT_EQ(ratio(balance), 1.0);
  for (int64_t second = 60; second <= 180; second += 10) {  // the first rank alone
    balance.heard(loads(1000 + second, 1000), start + seconds(second));
  }
  EXPECT_EQ(ratio(balance), 2.0);
}

TEST(ExpertBalance, TellsOfAllTimeWhereNothingRanLately) {
  ExpertBalance balance;
  for (int64_t second = 0; second <= 600; second += 10) {
    balance.heard(loads(30, 10), start + seconds(second));
  }
  EXPECT_EQ(ratio(balance), 1.5);
}

}  // namespace
}  // namespace dure
