#include "server/group_totals.h"

#include <gmock/gmock.h>

namespace dure {
namespace {

using testing::ElementsAre;

GroupStats stats(int64_t scale) {
  GroupStats made;
  for (int32_t rank = 0; rank < 2; ++rank) {
    RankStats& each = made.ranks.emplace_back();
    each.rank = rank;
    each.ops = {{"all_reduce", 10 * scale, 0.5 * static_cast<double>(scale)}};
    each.parts = {{"attention", 2.0 * static_cast<double>(scale)}};
    each.experts = {{3, 4 * rank, {scale, 2 * scale}}};
  }
  made.dropped_slots = scale;
  made.moved_slots = 2 * scale;
  return made;
}

TEST(GroupTotals, GoOnWhereADeadGroupEnded) {
  GroupTotals totals;
  EXPECT_TRUE(totals.sum().ranks.empty());
  totals.heard(stats(1));
  totals.heard(stats(3));  // of the same group: since its start
  totals.group_ended();
  EXPECT_EQ(totals.sum().ranks[0].ops[0].sent_bytes, 30);  // while nobody runs
  totals.heard(stats(2));
  const GroupStats sum = totals.sum();
  ASSERT_EQ(sum.ranks.size(), 2u);
  EXPECT_EQ(sum.ranks[1].rank, 1);
  EXPECT_EQ(sum.ranks[1].ops[0].op, "all_reduce");
  EXPECT_EQ(sum.ranks[1].ops[0].sent_bytes, 50);
  EXPECT_EQ(sum.ranks[1].ops[0].wait_s, 2.5);
  EXPECT_EQ(sum.ranks[1].parts[0].seconds, 10.0);
  EXPECT_EQ(sum.ranks[1].experts[0].layer, 3);
  EXPECT_EQ(sum.ranks[1].experts[0].first, 4);
  EXPECT_THAT(sum.ranks[1].experts[0].tokens, ElementsAre(5, 10));
  EXPECT_EQ(sum.dropped_slots, 5);
  EXPECT_EQ(sum.moved_slots, 10);
}

TEST(GroupTotals, AGroupThatDiesUnheardTakesNothingAway) {
  GroupTotals totals;
  totals.heard(stats(1));
  totals.group_ended();
  totals.group_ended();
  EXPECT_EQ(totals.sum().ranks[0].ops[0].sent_bytes, 10);
}

}  // namespace
}  // namespace dure
