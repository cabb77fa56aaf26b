#include "cluster/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/error.h"

namespace dure {
namespace {

TEST(Layout, EveryRankHasAPlaceOfItsOwn) {
  const Layout layout{2, 3, 4, 4};
  std::set<std::tuple<int, int, int>> attention;
  std::set<std::tuple<int, int, int>> experts;
  for (int rank = 0; rank < layout.world(); ++rank) {
    const RankPlace place = place_of(layout, rank);
    EXPECT_EQ(rank_of(layout, place.stage, place.dp, place.tp), rank);
    attention.insert({place.stage, place.dp, place.tp});
    experts.insert({place.stage, place.ep, place.etp});
    EXPECT_LT(place.etp, layout.etp());
    EXPECT_LT(place.ep, layout.ep);
  }
  EXPECT_EQ(attention.size(), 24);
  EXPECT_EQ(experts.size(), 24);
}

TEST(Layout, RefusesSizesThatAreNone) {
  for (const Layout& layout : {Layout{0, 1, 1, 1}, Layout{1, -1, 1, 1}, Layout{1, 1, 5000, 1},
                               Layout{4096, 4096, 1, 1}, Layout{2, 1, 2, 3}, Layout{1, 1, 1, 2}}) {
    EXPECT_THROW(check_layout(layout), Error) << to_string(layout);
  }
  EXPECT_NO_THROW(check_layout({4, 2, 2, 8}));
}

TEST(Layout, CutsCoverEverythingOnce) {
  for (int64_t n : {0, 1, 7, 10, 61, 256}) {
    for (int64_t parts = 1; parts <= 12; ++parts) {
      int64_t floor_end = 0;
      int64_t front_end = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const Range by_floor = cut_by_floor(n, parts, i);
        const Range front = cut_front_heavy(n, parts, i);
        EXPECT_EQ(by_floor.begin, floor_end);
        EXPECT_EQ(front.begin, front_end);
        EXPECT_LE(front.size() - n / parts, 1);
        EXPECT_GE(front.size(), n / parts);
        floor_end = by_floor.end;
        front_end = front.end;
      }
      EXPECT_EQ(floor_end, n);
      EXPECT_EQ(front_end, n);
    }
  }
}

}  // namespace
}  // namespace dure
