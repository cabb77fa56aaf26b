// Pages against a naive set, over random operations.
#include "schedule/page_manager.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dure {
namespace {

TEST(PageManager, HandsOutEveryPageOnceAndTakesThemBack) {
  PageManager pages(5);
  const std::vector<int32_t> all = pages.allocate(5);
  EXPECT_EQ(std::set<int32_t>(all.begin(), all.end()), (std::set<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pages.available(), 0);
  pages.release(all);
  EXPECT_EQ(pages.available(), 5);
}

TEST(PageManager, AgreesWithANaiveSetOverRandomOperations) {
  std::mt19937 random(1);
  PageManager pages(97);
  std::vector<std::vector<int32_t>> held;
  std::set<int32_t> naive;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 2 == 0) {
      const auto count = static_cast<int32_t>(random() % 12);
      if (count > pages.available()) continue;
      held.push_back(pages.allocate(count));
      ASSERT_EQ(held.back().size(), static_cast<size_t>(count));
      for (const int32_t page : held.back()) {
        ASSERT_TRUE(page >= 0 && page < 97);
        ASSERT_TRUE(naive.insert(page).second) << "page " << page << " was given out twice";
      }
    } else if (!held.empty()) {
      const size_t which = random() % held.size();
      std::swap(held[which], held.back());
      pages.release(held.back());
      for (const int32_t page : held.back()) naive.erase(page);
      held.pop_back();
    }
    ASSERT_EQ(pages.held(), static_cast<int32_t>(naive.size()));
  }
}

TEST(PageManagerDeathTest, StopsWhenAPageIsGivenBackTwice) {
  PageManager pages(3);
  const std::vector<int32_t> one = pages.allocate(1);
  pages.release(one);
  EXPECT_DEATH(pages.release(one), "");
}

}  // namespace
}  // namespace dure
