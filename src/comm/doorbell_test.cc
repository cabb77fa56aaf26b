#include "comm/doorbell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"

namespace dure {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class DoorbellTest : public testing::Test {
 protected:
  DoorbellTest() { EXPECT_NE(mkdtemp(name_), nullptr); }
  ~DoorbellTest() override { std::filesystem::remove_all(name_); }

  char name_[24] = "/tmp/doorbell-XXXXXX";
};

TEST_F(DoorbellTest, ARingIsHeardOnceHoweverOftenItWasRung) {
  Doorbell a(name_, 0);
  Doorbell b(name_, 1);
  ASSERT_TRUE(a.connect(2));
  EXPECT_FALSE(b.answer());
  a.ring(1);
  a.ring(1);
  EXPECT_TRUE(b.answer());
  EXPECT_FALSE(b.answer());
  EXPECT_FALSE(a.answer());
}

TEST_F(DoorbellTest, ARingBeforeTheSleepEndsIt) {
  Doorbell a(name_, 0);
  Doorbell b(name_, 1);
  ASSERT_TRUE(a.connect(2));
  a.ring(1);
  EXPECT_FALSE(b.sleep(-1, hours(1)));
  EXPECT_TRUE(b.answer());
}

TEST_F(DoorbellTest, ASleeperWakesAtEveryRing) {
  constexpr int rings = 2000;
  Doorbell a(name_, 0);
  Doorbell b(name_, 1);
  ASSERT_TRUE(a.connect(2));
  std::atomic<int> rung = 0;
  std::thread sleeper([&] {
    for (int seen = 0; seen < rings;) {
      b.answer();
      const int now = rung.load();
      if (now == seen) (void)b.sleep(-1, hours(1));
      seen = now;
    }
  });
  for (int i = 0; i < rings; ++i) {
    ++rung;
    a.ring(1);
  }
  sleeper.join();
}

TEST_F(DoorbellTest, NeitherAFullBellNorOneThatIsGoneHoldsTheRingerUp) {
  Doorbell a(name_, 0);
  std::optional<Doorbell> b(std::in_place, name_, 1);
  std::optional<Doorbell> c(std::in_place, name_, 2);
  ASSERT_TRUE(a.connect(3));
  for (int i = 0; i < 10'000; ++i) a.ring(1);
  a.ring(2);
  EXPECT_TRUE(c->answer());  // another's full bell takes nothing away
  EXPECT_TRUE(b->answer());
  b.reset();
  a.ring(1);
}

TEST_F(DoorbellTest, TheDescriptorAndTheTimeEndASleepToo) {
  Doorbell a(name_, 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(a.sleep(ends[0], milliseconds(1)));
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(a.sleep(ends[0], hours(1)));
  close(ends[1]);
  close(ends[0]);
}

TEST_F(DoorbellTest, ABellThatIsNotThereCannotBeReached) {
  Doorbell a(name_, 0);
  EXPECT_TRUE(a.connect(1));
  EXPECT_FALSE(a.connect(2));
}

TEST_F(DoorbellTest, FoldersThatAreNotThereOrHaveLongNamesAreRefused) {
  const std::string folder = name_;
  EXPECT_THROW(Doorbell(folder + "/none", 0), Error);
  EXPECT_THROW(Doorbell(folder + "/" + std::string(200, 'x'), 0), Error);
  Doorbell a(folder, 0);
  EXPECT_THROW(Doorbell(folder, 0), Error);  // two ranks of one number
}

TEST_F(DoorbellTest, NothingIsLeftInTheFolder) {
  { Doorbell a(name_, 0); }
  EXPECT_TRUE(std::filesystem::is_empty(name_));
}

}  // namespace
}  // namespace dure
