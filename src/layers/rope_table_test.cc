#include "layers/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dure {
namespace {

RopeSpec rope_of(RopeKind kind, int64_t dims) {
  RopeSpec rope;
  rope.kind = kind;
  rope.dims = dims;
  return rope;
}

TEST(RopeTable, PlainFrequenciesFallFromOneByPowersOfTheta) {
  const std::vector<float> f = rope_frequencies(rope_of(RopeKind::plain, 8));
  ASSERT_EQ(f.size(), 4u);
  EXPECT_FLOAT_EQ(f[0], 1.0f);
  EXPECT_FLOAT_EQ(f[1], 0.1f);
  EXPECT_FLOAT_EQ(f[2], 0.01f);
  EXPECT_FLOAT_EQ(f[3], 0.001f);
}

TEST(RopeTable, LinearScalingDividesEveryFrequency) {
  RopeSpec rope = rope_of(RopeKind::linear, 8);
  rope.factor = 4.0;
  const std::vector<float> f = rope_frequencies(rope);
  EXPECT_FLOAT_EQ(f[0], 0.25f);
  EXPECT_FLOAT_EQ(f[3], 0.00025f);
}

// Llama 3.1's own settings: head 128, theta 500000, factor 8, bands at 8192 / 4 and 8192 / 1.
TEST(RopeTable, Llama3KeepsShortWavesDividesLongOnesAndBlendsBetween) {
  RopeSpec rope = rope_of(RopeKind::llama3, 128);
  rope.theta = 500000.0;
  rope.factor = 8.0;
  rope.original_context = 8192;
  const std::vector<float> f = rope_frequencies(rope);
  RopeSpec plain = rope;
  plain.kind = RopeKind::plain;
  const std::vector<float> p = rope_frequencies(plain);
  bool blended = false;
  for (size_t i = 0; i < f.size(); ++i) {
    const double wavelength = 2.0 * M_PI / p[i];
    if (wavelength < 2048.0) {
      EXPECT_FLOAT_EQ(f[i], p[i]);
    } else if (wavelength > 8192.0) {
      EXPECT_FLOAT_EQ(f[i], p[i] / 8.0f);
    } else {
      EXPECT_LT(f[i], p[i]);
      EXPECT_GT(f[i], p[i] / 8.0f);
      blended = true;
    }
  }
  EXPECT_TRUE(blended);
}

// DeepSeek-V3's settings: 64 dims, theta 10000, factor 40 over 4096: the ramp runs from dimension
// 10 (floor of 10.2) to 23 (ceil of 22.5).
TEST(RopeTable, YarnRampsBetweenTheTwoCorrectionDimensions) {
  RopeSpec rope = rope_of(RopeKind::yarn, 64);
  rope.factor = 40.0;
  rope.original_context = 4096;
  const std::vector<float> f = rope_frequencies(rope);
  RopeSpec plain = rope;
  plain.kind = RopeKind::plain;
  const std::vector<float> p = rope_frequencies(plain);
  EXPECT_FLOAT_EQ(f[10], p[10]);
  EXPECT_LT(f[11], p[11]);
  EXPECT_FLOAT_EQ(f[23], p[23] / 40.0f);
  EXPECT_GT(f[22], p[22] / 40.0f);
}

TEST(RopeTable, RowsBelongToPositionsAndCarryTheAttentionFactor) {
  RopeSpec rope = rope_of(RopeKind::plain, 4);
  rope.attention_factor = 2.0;
  const std::vector<int32_t> positions = {3, 0};
  const RopeTable table = make_rope_table(rope, positions, positions);
  EXPECT_EQ(table.dims, 4);
  EXPECT_FLOAT_EQ(table.cos[0], 2.0f * std::cos(3.0f));
  EXPECT_FLOAT_EQ(table.sin[1], 2.0f * std::sin(0.03f));
  EXPECT_FLOAT_EQ(table.cos[2], 2.0f);
  EXPECT_FLOAT_EQ(table.sin[3], 0.0f);
}

TEST(RopeTable, LongropeDividesByTheFactorsOfTheSequencesLength) {
  RopeSpec rope = rope_of(RopeKind::longrope, 4);
  rope.original_context = 64;
  rope.short_factors = {1.0, 2.0};
  rope.long_factors = {4.0, 8.0};
  const std::vector<int32_t> positions = {5, 5};
  const std::vector<int32_t> lengths = {64, 65};
  const RopeTable table = make_rope_table(rope, positions, lengths);
  EXPECT_FLOAT_EQ(table.cos[0], std::cos(5.0f));
  EXPECT_FLOAT_EQ(table.sin[1], std::sin(0.05f / 2.0f));
  EXPECT_FLOAT_EQ(table.cos[2], std::cos(5.0f / 4.0f));
  EXPECT_FLOAT_EQ(table.sin[3], std::sin(0.05f / 8.0f));
}

TEST(RopeTable, ProportionalTurnsTheFirstPairsOnly) {
  RopeSpec rope = rope_of(RopeKind::proportional, 8);
  rope.turning = 1;
  const std::vector<float> f = rope_frequencies(rope);
  EXPECT_FLOAT_EQ(f[0], 1.0f);
  EXPECT_EQ(f[1], 0.0f);
  EXPECT_EQ(f[3], 0.0f);
}

}  // namespace
}  // namespace dure
