#include "tensor/packed_shape.h"

#include <gmock/gmock.h>

#include <numeric>

namespace dure {
namespace {

using ::testing::ElementsAre;

TEST(PackedShape, OneRankSumsEightPiecesOfWholeUnits) {
  EXPECT_THAT(tree_segments_of(64, 1, 1, 0), ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
  EXPECT_THAT(tree_segments_of(10, 1, 1, 0), ElementsAre(1, 1, 1, 2, 1, 1, 1, 2));
  EXPECT_THAT(tree_segments_of(6, 16, 1, 0), ElementsAre(0, 16, 16, 16, 0, 16, 16, 16));
  EXPECT_THAT(whole_segment(10), ElementsAre(10));
}

// What the fixed order of sums rests on: ranks of tp 1, 2, 4 and 8 hold runs of one list of pieces.
TEST(PackedShape, RanksOfPowersOfTwoHoldWholeSubtrees) {
  for (int64_t units : {8, 40, 72, 6, 3, 333, 1}) {
    const std::vector<int64_t> whole = tree_segments_of(units, 16, 1, 0);
    for (int tp : {1, 2, 4, 8}) {
      EXPECT_TRUE(keeps_subtrees(tp));
      std::vector<int64_t> joined;
      for (int i = 0; i < tp; ++i) {
        const std::vector<int64_t> part = tree_segments_of(units, 16, tp, i);
        EXPECT_EQ(part.size(), static_cast<size_t>(tree_segments / tp)) << units << " over " << tp;
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, whole) << units << " over " << tp;
    }
  }
}

TEST(PackedShape, OtherSplitsStillCoverEveryInput) {
  for (int tp : {3, 5, 6, 7, 16}) {
    EXPECT_FALSE(keeps_subtrees(tp));
    int64_t sum = 0;
    for (int i = 0; i < tp; ++i) {
      const auto part = tree_segments_of(40, 4, tp, i);
      sum += std::accumulate(part.begin(), part.end(), int64_t{0});
    }
    EXPECT_EQ(sum, 160);
  }
}

TEST(PackedShape, BytesCountPanelsAndUnits) {
  PackedShape shape{.n = 33, .segments = {3, 4}, .dtype = DType::bf16};
  EXPECT_EQ(shape.panels(), 2);
  EXPECT_EQ(shape.padded_k(), 8);  // pairs: 4 + 4
  EXPECT_EQ(shape.bytes(), 2 * 32 * 8 * 2);
  shape.dtype = DType::f32;
  EXPECT_EQ(shape.bytes(), 2 * 32 * 7 * 4);
  // gate and up are padded each: 2 × 17 outputs are two panels, not one and a bit.
  const PackedShape fused{
      .n = 34, .segments = {2}, .dtype = DType::bf16, .order = PanelOrder::gate_up};
  EXPECT_EQ(fused.panels(), 2);
}

}  // namespace
}  // namespace dure
