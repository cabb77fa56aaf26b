// A group's folder goes with its owner, however the owner ends.
#include "group/private_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "base/error.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

class Base {
 public:
  Base() {
    std::string name = (fs::temp_directory_path() / "private_folder_test.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Base() { fs::remove_all(path); }
  fs::path path;
};

TEST(PrivateFolder, IsOursAloneAndGoesWithItsContents) {
  const Base base;
  fs::path path;
  {
    const PrivateFolder folder(base.path);
    path = folder.path();
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "file") << "x";
    const PrivateFolder second(base.path);
    EXPECT_NE(second.path(), path);
    EXPECT_TRUE(fs::exists(path));  // making another removes only what the dead left
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(base.path));
}

TEST(PrivateFolder, IsRemovedWithinSecondsOfItsOwnersKill) {
  const Base base;
  const pid_t owner = fork();
  if (owner == 0) {
    const PrivateFolder folder(base.path);
    std::ofstream(folder.path() / "file") << "x";
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!fs::is_empty(base.path) && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(fs::is_empty(base.path));
}

TEST(PrivateFolder, FoldersOfTheDeadAreRemovedAndOthersLeftAlone) {
  const Base base;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  const std::string ours = fmt::format("dure-{}-", getuid());
  const fs::path stale = base.path / fmt::format("{}{}-17-0", ours, gone);
  const fs::path reused = base.path / fmt::format("{}{}-1-0", ours, getpid());  // other start time
  const fs::path foreign = base.path / fmt::format("dure-{}-{}-17-0", getuid() + 1, gone);
  const fs::path other = base.path / fmt::format("{}{}-17-0-more", ours, gone);
  for (const auto& path : {stale, reused, foreign, other}) fs::create_directory(path);
  remove_stale_folders(base.path);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_FALSE(fs::exists(reused));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_TRUE(fs::exists(other));
}

TEST(PrivateFolder, AFolderThatCannotBeMadeIsNamed) {
  try {
    const PrivateFolder folder("/nonexistent/base");
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("/nonexistent/base/dure-"), std::string::npos);
    EXPECT_NE(error.hint(), "");
  }
}

}  // namespace
}  // namespace dure
