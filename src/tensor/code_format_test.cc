#include "tensor/code_format.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tensor/packed_shape.h"

namespace dure {
namespace {

using ::testing::ElementsAre;

TEST(CodeGroups, AreCutAtMultiplesOf32OfTheWeightAndAtSegments) {
  const CodeGroups whole = code_groups({70}, 0);
  EXPECT_THAT(whole.inputs, ElementsAre(32, 32, 6));
  EXPECT_THAT(whole.of_segments, ElementsAre(3));
  const CodeGroups cut = code_groups({176, 0, 176}, 0);
  EXPECT_THAT(cut.inputs, ElementsAre(32, 32, 32, 32, 32, 16, 16, 32, 32, 32, 32, 32));
  EXPECT_THAT(cut.of_segments, ElementsAre(6, 0, 6));
  EXPECT_THAT(code_groups({20}, 30).inputs, ElementsAre(2, 18));
  EXPECT_EQ(code_groups({20}, 30).padded_inputs(), 4 + 20);
}

// What makes the same codes in every layout: ranks of tp 1, 2, 4 and 8 hold runs of one list.
TEST(CodeGroups, RanksThatHoldSubtreesHoldRunsOfTheSameGroups) {
  for (int64_t k : {1408, 768, 333, 50}) {
    const CodeGroups whole = code_groups(tree_segments_of(k, 1, 1, 0), 0);
    for (int tp : {2, 4, 8}) {
      std::vector<int32_t> inputs;
      for (int i = 0; i < tp; ++i) {
        const CodeGroups part = code_groups(tree_segments_of(k, 1, tp, i), k * i / tp);
        inputs.insert(inputs.end(), part.inputs.begin(), part.inputs.end());
      }
      EXPECT_EQ(inputs, whole.inputs) << k << " over " << tp;
    }
  }
}

TEST(CodeFormat, TakesTheBitsOfItsCodesAndHalfABitForScales) {
  PackedShape shape{.n = 64, .segments = {2048}, .codes = CodeFormat::q8};
  EXPECT_EQ(shape.bytes() * 16, 64 * 2048 * 17);  // 8.5 bits
  shape.codes = CodeFormat::q4;
  EXPECT_EQ(shape.bytes() * 16, 64 * 2048 * 9);  // 4.5 bits
  EXPECT_EQ(find_code_format("q4"), CodeFormat::q4);
  EXPECT_EQ(find_code_format("q5"), std::nullopt);
}

TEST(CodeFormat, KernelsReadShapesTogetherThatAreCutAlike) {
  const PackedShape shape{.n = 64, .segments = {96}, .codes = CodeFormat::q8, .first_input = 96};
  PackedShape other = shape;
  other.first_input = 192;
  EXPECT_TRUE(shape.alike(other));
  other.first_input = 200;
  EXPECT_FALSE(shape.alike(other));
  other = shape;
  other.codes = CodeFormat::q4;
  EXPECT_FALSE(shape.alike(other));
}

}  // namespace
}  // namespace dure
