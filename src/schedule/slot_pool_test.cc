#include "schedule/slot_pool.h"

#include <gtest/gtest.h>

namespace dure {
namespace {

TEST(SlotPool, GivesEachSlotOnceAndTheWarmestFirst) {
  SlotPool slots(3);
  EXPECT_EQ(slots.take(), 0);
  EXPECT_EQ(slots.take(), 1);
  EXPECT_EQ(slots.take(), 2);
  EXPECT_EQ(slots.available(), 0);
  slots.give_back(1);
  slots.give_back(0);
  EXPECT_EQ(slots.take(), 0);
}

TEST(SlotPoolDeath, StopsAtAReturnOfWhatIsNotTaken) {
  SlotPool slots(2);
  EXPECT_DEATH(slots.give_back(0), "");
  EXPECT_DEATH(slots.give_back(2), "");
  EXPECT_DEATH({ (slots.take(), slots.take(), slots.take()); }, "");
}

}  // namespace
}  // namespace dure
