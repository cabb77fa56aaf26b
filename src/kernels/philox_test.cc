#include "kernels/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dure {
namespace {

using testing::ElementsAre;

TEST(Philox, GivesThePublishedKnownAnswers) {  // Random123's kat_vectors
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, UsesEveryBitOfSeedAndPosition) {
  const double first = philox_uniform(0, 0);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(philox_uniform(uint64_t{1} << bit, 0), first);
    EXPECT_NE(philox_uniform(0, uint64_t{1} << bit), first);
  }
}

}  // namespace
}  // namespace dure
