#include "schedule/fair_finish.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace dure {
namespace {

TEST(FairFinish, LetsTheShortPassTheLong) {
  FairFinish line;
  const double book = line.enter(30'000);
  const double question = line.enter(100);
  EXPECT_LT(question, book);
  line.served(100);
  EXPECT_LT(line.enter(200), book);
}

TEST(FairFinish, KeepsTheOrderOfTheEquallyLong) {
  FairFinish line;
  const double first = line.enter(100);
  EXPECT_LE(first, line.enter(100));
  line.served(60);
  EXPECT_LT(first, line.enter(100));
}

// Although the short ones alone are all that can be done.
TEST(FairFinish, DoesNotLetTheLongWaitForEver) {
  FairFinish line;
  const double book = line.enter(1000);
  int passed = 0;
  while (line.enter(200) < book) {
    line.served(200);
    ASSERT_LT(++passed, 100);
  }
}

TEST(FairFinish, CountsNoMoreWhoHasLeft) {
  FairFinish line;
  const double gone = line.enter(1000);
  line.enter(1000);
  line.leave(gone);
  line.served(500);  // all of it the other's
  EXPECT_EQ(line.enter(100), 600.0);
}

// Random loads, first with real sharing: nobody is done later by places.
TEST(FairFinish, NobodyIsDoneLaterThanIfAllHadShared) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    struct Prompt {
      int arrives = 0;
      double left = 0.0;
      double shared_left = 0.0;
      double place = 0.0;
      int done = -1;
      int shared_done = -1;
    };
    std::vector<Prompt> prompts(20);
    for (Prompt& prompt : prompts) {
      prompt.arrives = static_cast<int>(random() % 300);
      prompt.left = prompt.shared_left =
          static_cast<double>(1 + random() % (random() % 4 ? 20 : 300));
    }
    FairFinish line;
    for (int now = 0; now < 5000; ++now) {  // one token in each unit of time
      Prompt* next = nullptr;
      double sharing = 0.0;
      for (Prompt& prompt : prompts) {
        if (prompt.arrives == now) prompt.place = line.enter(static_cast<int32_t>(prompt.left));
        if (prompt.arrives > now) continue;
        if (prompt.done < 0 && (next == nullptr || prompt.place < next->place)) next = &prompt;
        sharing += prompt.shared_done < 0 ? 1.0 : 0.0;
      }
      double unit = 1.0;  // shared out until it is used up
      while (unit > 1e-9 && sharing > 0.0) {
        double least = unit / sharing;
        for (const Prompt& prompt : prompts) {
          if (prompt.arrives <= now && prompt.shared_done < 0) {
            least = std::min(least, prompt.shared_left);
          }
        }
        for (Prompt& prompt : prompts) {
          if (prompt.arrives > now || prompt.shared_done >= 0) continue;
          unit -= least;
          prompt.shared_left -= least;
          if (prompt.shared_left > 1e-9) continue;
          prompt.shared_done = now;
          sharing -= 1.0;
        }
      }
      if (next == nullptr) continue;
      line.served(1);
      if (--next->left == 0.0) next->done = now;
    }
    for (const Prompt& prompt : prompts) {
      ASSERT_GE(prompt.done, 0);
      ASSERT_GE(prompt.shared_done, 0);
      // By a unit for each: what is shared is not whole tokens.
      EXPECT_LE(prompt.done, prompt.shared_done + 1) << round;
    }
  }
}

}  // namespace
}  // namespace dure
