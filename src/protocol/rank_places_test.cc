#include "protocol/rank_places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

class RankPlacesOf : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("dure-places-test-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(RankPlacesOf, AGroupAreReadByItsOwnerAsRanksWriteThem) {
  const RankPlaces owner = RankPlaces::make(folder_, 3);
  EXPECT_EQ(owner.describe(1), "");
  const auto rank = RankPlaces::find(folder_, 3);
  ASSERT_TRUE(rank);
  RankSpot& spot = rank->spot(1);
  spot.pid = 4711;
  EXPECT_EQ(owner.rank_of(4711), 1);
  EXPECT_EQ(owner.rank_of(4712), -1);
  spot.does = RankDoes::loads;
  EXPECT_EQ(owner.describe(1), " while it loaded");
  EXPECT_EQ(owner.describe_waiting(), "");
  EXPECT_EQ(owner.where(1).step, -1);
  spot.does = RankDoes::rests;
  EXPECT_EQ(owner.describe(1), " between steps");
  spot.does = RankDoes::computes;
  spot.step = 7;
  spot.layer = 3;
  EXPECT_EQ(owner.describe(1), " at step 7, computing, layer 3");
  spot.operation = 12;
  std::strcpy(spot.kind, "all-reduce");
  std::strcpy(spot.what, "attention output");
  EXPECT_EQ(owner.describe(1),
            " at step 7, computing, layer 3 after operation 12 (all-reduce of attention output)");
  spot.does = RankDoes::waits;
  EXPECT_EQ(owner.describe(1),
            " at step 7, waiting in operation 12 (all-reduce of attention output, layer 3)");
  EXPECT_EQ(owner.where(1).step, 7);
  EXPECT_EQ(owner.where(1).layer, 3);
  EXPECT_EQ(owner.where(1).operation, "all-reduce of attention output");
  EXPECT_EQ(owner.where(5).step, -1);
  EXPECT_EQ(
      owner.describe_waiting(),
      "; rank 1 was at step 7, waiting in operation 12 (all-reduce of attention output, layer "
      "3)");
  EXPECT_EQ(owner.describe(0), "");
  EXPECT_EQ(owner.describe(-1), "");
}

TEST_F(RankPlacesOf, RanksOfAnotherHostAreNotThere) {
  EXPECT_FALSE(RankPlaces::find(folder_ / "elsewhere", 2));
  const RankPlaces smaller = RankPlaces::make(folder_, 2);
  EXPECT_FALSE(RankPlaces::find(folder_, 200));
}

TEST_F(RankPlacesOf, AFolderThatCannotBeWrittenAreAnError) {
  EXPECT_THROW(RankPlaces::make(folder_ / "not there", 2), Error);
}

}  // namespace
}  // namespace dure
