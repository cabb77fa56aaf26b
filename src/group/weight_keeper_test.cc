#include "group/weight_keeper.h"

#include "base/error.h"
#include "group/test_watched_group.h"
#include "keeper/keeper_client.h"

namespace dure {
namespace {

// Whether a keeper listens under this name.
bool answers(const std::string& name) {
  try {
    (void)KeeperClient(name, 0).take();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Of a group's owner, and of its hosts file.
TEST_F(GroupTest, AKeeperIsStartedOnceAndAgainWhenItIsDead) {
  const std::string here = "localhost slots=8\n";
  const fs::path hosts = fs::temp_directory_path() / fmt::format("hosts-of-{}", getpid());
  std::ofstream(hosts) << here;
  for (const std::string& file : {std::string(), hosts.string()}) {
    WeightKeeper keeper(DURE_RANK, file);
    const std::string name = keeper.running();
    EXPECT_EQ(keeper.running(), name);
    ASSERT_TRUE(comes_true([&] { return answers(name); }));
    kill(keeper.pid(), SIGKILL);
    ASSERT_TRUE(comes_true([&] { return !answers(name); }));
    ASSERT_TRUE(comes_true([&] { return keeper.running() != name; }));
    ASSERT_TRUE(comes_true([&] { return answers(keeper.running()); }));
  }
  fs::remove(hosts);
}

}  // namespace
}  // namespace dure
