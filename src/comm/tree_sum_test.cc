// The order of addition is the stated one, for any number of pieces, bit by bit.
#include "comm/tree_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace dure {
namespace {

// The definition itself: the left subtree holds the largest power of two of pieces below n.
float tree_of(const std::vector<std::vector<float>>& pieces, size_t begin, size_t n, size_t i) {
  if (n == 1) return pieces[begin][i];
  const size_t left = std::bit_floor(n - 1);
  return tree_of(pieces, begin, left, i) + tree_of(pieces, begin + left, n - left, i);
}

TEST(TreeSum, AddsNeighboursFirstForAnyNumberOfPieces) {
  std::mt19937 dice(1);
  std::uniform_real_distribution<float> exponent(-30.0f, 30.0f);
  for (size_t n = 2; n <= 17; ++n) {
    for (size_t count : {0u, 1u, 7u, 4096u, 9001u}) {
      std::vector<std::vector<float>> pieces(n, std::vector<float>(count));
      for (auto& piece : pieces) {
        for (float& x : piece) x = std::exp2(exponent(dice)) * (dice() % 2 == 0 ? 1.0f : -1.0f);
      }
      const auto before = pieces;
      for (size_t target = 0; target < 2; ++target) {
        pieces = before;
        std::vector<float> apart(count);
        std::vector<float*> pointers;
        for (auto& piece : pieces) pointers.push_back(piece.data());
        float* out = target == 0 ? apart.data() : pieces[n - 1].data();
        tree_sum(pointers, count, out);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<uint32_t>(out[i]),
                    std::bit_cast<uint32_t>(tree_of(before, 0, n, i)))
              << n << " pieces, element " << i;
        }
      }
    }
  }
}

TEST(TreeSum, KeepsInfinitiesAndDenormalsAndMakesOneNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> a = {inf, inf, tiny, -0.0f, std::bit_cast<float>(0xffc12345u), 3e38f};
  std::vector<float> b = {1.0f, -inf, tiny, -0.0f, 1.0f, 3e38f};
  std::vector<float> out(a.size());
  float* const pieces[] = {a.data(), b.data()};
  tree_sum(pieces, a.size(), out.data());
  const uint32_t nan = 0x7fc00000u;
  const uint32_t expected[] = {std::bit_cast<uint32_t>(inf), nan, 2u, 0x80000000u, nan,
                               std::bit_cast<uint32_t>(inf)};
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), expected[i]) << "element " << i;
  }
}

}  // namespace
}  // namespace dure
