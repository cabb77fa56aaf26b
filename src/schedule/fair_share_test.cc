#include "schedule/fair_share.h"

#include <gtest/gtest.h>

namespace dure {
namespace {

TEST(FairShare, GivesNoCreditForTimeAway) {
  FairShare shares;
  FairShare::Tenant& busy = shares.enter("busy");
  busy.served += 100.0;
  EXPECT_EQ(shares.enter("new").served, 100.0);
}

TEST(FairShare, RemembersWhatATenantTookWhileOthersWait) {
  FairShare shares;
  FairShare::Tenant& greedy = shares.enter("greedy");
  shares.enter("other");
  greedy.served += 50.0;
  shares.leave("greedy");
  EXPECT_EQ(shares.enter("greedy").served, 50.0);
}

TEST(FairShare, StartsAnewWhenNobodyIsLeft) {
  FairShare shares;
  shares.enter("one").served += 50.0;
  shares.leave("one");
  EXPECT_EQ(shares.enter("one").served, 0.0);
}

}  // namespace
}  // namespace dure
