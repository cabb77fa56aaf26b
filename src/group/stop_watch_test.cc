#include "group/stop_watch.h"

#include "group/test_watched_group.h"

namespace dure {
namespace {

constexpr std::chrono::seconds promised_of_stopped{10};

TEST_F(GroupTest, AStoppedRankIsFoundWhileThereIsNothingToDo) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  watched.group->send(step_of(1, {1}));
  ASSERT_TRUE(watched.wait([&] { return watched.steps.size() == 1; }, promised));
  const pid_t pid = watched.pid_of(2);
  kill(pid, SIGSTOP);
  ASSERT_TRUE(watched.wait_failed(promised_of_stopped));
  EXPECT_EQ(watched.failed->rank, 2);
  EXPECT_THAT(watched.failed->message,
              HasSubstr(fmt::format("rank 2 (pid {}) has been stopped", pid)));
  EXPECT_THAT(watched.failed->message, HasSubstr("between steps"));
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, AStoppedRankIsFoundWhileOthersWaitForItAndTheyAreNamed) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  kill(watched.pid_of(1), SIGSTOP);
  watched.group->send(step_of(7, {1}));
  ASSERT_TRUE(watched.wait_failed(promised_of_stopped));
  EXPECT_EQ(watched.failed->rank, 1);
  EXPECT_THAT(
      watched.failed->message,
      HasSubstr("; rank 0 was at step 7, waiting in operation 0 (all-reduce of fake step)"));
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, AStoppedMpirunIsFound) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  kill(processes_of(getpid(), "/mpirun").at(0), SIGSTOP);
  ASSERT_TRUE(watched.wait_failed(promised_of_stopped));
  EXPECT_THAT(watched.failed->message, HasSubstr("of the group has been stopped"));
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, ARankStoppedWhileItLoadsIsFound) {
  Watched watched(options_for("loads-for-ever"));
  ASSERT_TRUE(watched.wait([&] { return watched.progress > 0; }, std::chrono::seconds(60)));
  std::vector<pid_t> ranks;
  ASSERT_TRUE(comes_true([&] {
    ranks = processes_of(getpid(), "fake_rank");
    return ranks.size() == 3;
  }));
  kill(ranks[1], SIGSTOP);
  ASSERT_TRUE(watched.wait_failed(promised_of_stopped));
  EXPECT_THAT(watched.failed->message,
              HasSubstr(fmt::format("(pid {}) has been stopped", ranks[1])));
}

TEST_F(GroupTest, ARankThatIsContinuedInTimeIsLeftAlone) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  kill(watched.pid_of(1), SIGSTOP);
  watched.group->send(step_of(1, {1}));
  kill(watched.pid_of(1), SIGCONT);
  ASSERT_TRUE(watched.wait([&] { return watched.steps.size() == 1 || watched.failed; }, promised));
  EXPECT_FALSE(watched.failed);
}

}  // namespace
}  // namespace dure
