#include "group/shared_room.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

constexpr int64_t mib = int64_t{1} << 20;

TEST(SharedRoom, IsInMemoryWhereThatHoldsWhatTheRanksMayFill) {
  const std::vector<SharedRoom> rooms = {{"/dev/shm", true, 64 * mib}, {"/tmp", true, 9999 * mib}};
  EXPECT_EQ(choose_room(rooms, 1), "/dev/shm");
  EXPECT_EQ(choose_room(rooms, 8), "/dev/shm");
  EXPECT_EQ(choose_room(rooms, 16), "/tmp");
}

TEST(SharedRoom, IsElsewhereWhereMemoryCannotBeWritten) {
  EXPECT_EQ(choose_room({{"/dev/shm", false, 9999 * mib}, {"/tmp", true, 20 * mib}}, 2), "/tmp");
}

TEST(SharedRoom, RefusesWhereNoFolderHasIt) {
  try {
    choose_room({{"/dev/shm", true, 5 * mib}, {"/tmp", false, 0}}, 2);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::failed);
    EXPECT_THAT(error.message(), HasSubstr("/dev/shm has 5.00 MiB and /tmp cannot be written"));
    EXPECT_THAT(error.hint(), HasSubstr("TMPDIR"));
  }
}

TEST(SharedRoom, SeesFoldersAsTheyAre) {
  const SharedRoom here = look_at(std::filesystem::temp_directory_path());
  EXPECT_TRUE(here.writable);
  EXPECT_GT(here.free, 0);
  const SharedRoom nowhere = look_at("/nowhere/at/all");
  EXPECT_FALSE(nowhere.writable);
  EXPECT_EQ(nowhere.free, 0);
}

}  // namespace
}  // namespace dure
