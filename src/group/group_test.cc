// A group of real processes over MPI (fake_rank_main.cc): work, orderly ends, and every way to die.
// After each test no process, folder or descriptor is left.
#include "group/group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "group/test_watched_group.h"

namespace dure {
namespace {

TEST_F(GroupTest, AnswersEveryStepInOrderAndEndsInOrder) {
  Watched watched(options_for("ok", 4));
  for (uint64_t id = 1; id <= 50; ++id) {  // sent before the ranks are even there
    watched.group->send(step_of(id, {static_cast<int32_t>(id), 1000}));
  }
  watched.group->stop();
  // Asked to stop while loading, it need not finish; so this one waits.
  Watched second(options_for("ok", 4));
  ASSERT_TRUE(second.wait_ready());
  for (uint64_t id = 1; id <= 50; ++id) {
    second.group->send(step_of(id, {static_cast<int32_t>(id), 1000}));
  }
  second.group->stop();
  ASSERT_EQ(second.steps.size(), 50u);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(second.steps[i].id, i + 1);
    EXPECT_EQ(second.steps[i].slices[0].token, static_cast<int>(i) + 1001);
  }
  EXPECT_GE(second.progress, 1);
  EXPECT_EQ(watched.failures + second.failures, 0);
  EXPECT_TRUE(nothing_left(getpid()));
}

TEST_F(GroupTest, AKilledRankEndsTheGroupAndIsNamed) {
  for (const size_t rank : {0u, 2u}) {
    Watched watched(options_for("ok"));
    ASSERT_TRUE(watched.wait_ready());
    const pid_t pid = watched.pid_of(rank);
    kill(pid, SIGKILL);
    ASSERT_TRUE(watched.wait_failed());
    EXPECT_THAT(watched.failed->message,
                HasSubstr(fmt::format("rank {} (pid {}) was killed by signal 9", rank, pid)));
    EXPECT_EQ(watched.failed->rank, static_cast<int>(rank));
    EXPECT_EQ(watched.failed->cause, EndCause::killed);
    EXPECT_EQ(watched.failed->pid, pid);
    EXPECT_THAT(watched.failed->hint, HasSubstr("memory"));
    EXPECT_FALSE(watched.left_at_failure);
    EXPECT_EQ(watched.failures, 1);
    watched.group->send(step_of(1, {1}));  // ignored
    watched.group->stop();                 // returns
  }
}

TEST_F(GroupTest, AStoppedRankIsEndedWithTheOthers) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  kill(watched.pid_of(1), SIGSTOP);
  kill(watched.pid_of(2), SIGKILL);
  ASSERT_TRUE(watched.wait_failed());
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, AKilledMpirunEndsTheGroup) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  const auto mpiruns = processes_of(getpid(), "/mpirun");
  ASSERT_EQ(mpiruns.size(), 1u);
  kill(mpiruns[0], SIGKILL);
  ASSERT_TRUE(watched.wait_failed());
  EXPECT_THAT(watched.failed->message, HasSubstr("mpirun, and the ranks with it, was killed"));
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, AKillWhileLoadingEndsTheGroup) {
  Watched watched(options_for("loads-for-ever"));
  ASSERT_TRUE(watched.wait([&] { return watched.progress > 0; }, std::chrono::seconds(60)));
  std::vector<pid_t> ranks;
  ASSERT_TRUE(comes_true([&] {
    ranks = processes_of(getpid(), "fake_rank");
    return ranks.size() == 3;
  }));
  kill(ranks[1], SIGKILL);
  ASSERT_TRUE(watched.wait_failed());
  EXPECT_THAT(watched.failed->message, HasSubstr("was killed by signal 9"));
  EXPECT_FALSE(watched.left_at_failure);
}

// An mpirun of ours that starts three programs, of which the second is killed at once, and never
// waits for any of them: what Open MPI's can come to when a rank is killed while it starts the
// next.
TEST_F(GroupTest, ARankThatMpirunLetsLieIsNoticedAndNamed) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("mpirun-of-{}", getpid());
  fs::create_directory(folder);
  std::ofstream(folder / "mpirun") << "#!/bin/sh\n"
                                      "sleep 600 &\n"
                                      "sh -c 'kill -9 $$' &\n"
                                      "sleep 600 &\n"
                                      "exec sleep 600\n";
  fs::permissions(folder / "mpirun", fs::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", fmt::format("{}:{}", folder.string(), path).c_str(), 1);
  {
    Watched watched(options_for("ok"));
    EXPECT_TRUE(watched.wait_failed(std::chrono::seconds(60)));
    if (watched.failed) {
      EXPECT_THAT(watched.failed->message, HasSubstr("rank 1 (pid "));
      EXPECT_THAT(watched.failed->message, HasSubstr("was killed by signal 9"));
      EXPECT_THAT(watched.failed->hint, HasSubstr("memory"));
      EXPECT_EQ(watched.failed->rank, 1);
    }
  }
  setenv("PATH", path.c_str(), 1);
  fs::remove_all(folder);
}

// The same by Open MPI's own, kept from noticing.
TEST_F(GroupTest, ARankKilledWhileMpirunHangsIsNoticedAndNamed) {
  Watched watched(options_for("loads-for-ever"));
  ASSERT_TRUE(watched.wait([&] { return watched.progress > 0; }, std::chrono::seconds(60)));
  const auto mpiruns = processes_of(getpid(), "/mpirun");
  ASSERT_EQ(mpiruns.size(), 1u);
  kill(mpiruns[0], SIGSTOP);
  const auto ranks = processes_of(getpid(), "fake_rank");
  ASSERT_EQ(ranks.size(), 3u);
  const pid_t last = *std::max_element(ranks.begin(), ranks.end());
  kill(last, SIGKILL);
  ASSERT_TRUE(watched.wait_failed(std::chrono::seconds(60)));
  EXPECT_THAT(watched.failed->message,
              HasSubstr(fmt::format("(pid {}) was killed by signal 9", last)));
  EXPECT_GE(watched.failed->rank, 0);
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, ARankAskedToEndByASignalComesWithAHint) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Watched watched(options_for("ok"));
    ASSERT_TRUE(watched.wait_ready());
    kill(watched.pid_of(1), signal);
    ASSERT_TRUE(watched.wait_failed());
    EXPECT_THAT(watched.failed->message, HasSubstr(fmt::format("killed by signal {}", signal)));
    EXPECT_THAT(watched.failed->hint, HasSubstr("signal `dure` itself"));
  }
}

TEST_F(GroupTest, StoppingWhileLoadingEndsAtOnceAndIsNoFailure) {
  Watched watched(options_for("loads-for-ever"));
  ASSERT_TRUE(watched.wait([&] { return watched.progress > 0; }, std::chrono::seconds(60)));
  watched.group->stop();
  EXPECT_TRUE(nothing_left(getpid()));
  EXPECT_EQ(watched.failures, 0);
}

TEST_F(GroupTest, DestructionEndsTheGroupAtAnyTime) {
  { Watched watched(options_for("ok")); }  // while starting
  EXPECT_TRUE(nothing_left(getpid()));
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  watched.group.reset();
  EXPECT_TRUE(nothing_left(getpid()));
  EXPECT_EQ(watched.failures, 0);
}

TEST_F(GroupTest, ARanksOwnErrorArrivesWithCodeAndHint) {
  Watched watched(options_for("bad"));
  ASSERT_TRUE(watched.wait_failed(std::chrono::seconds(60)));
  EXPECT_EQ(watched.failed->rank, 1);
  EXPECT_EQ(watched.failed->code, static_cast<uint8_t>(ErrorCode::bad_input));
  EXPECT_EQ(watched.failed->message, "model bad has no weights");
  EXPECT_EQ(watched.failed->hint, "download it again");
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, ARankThatExitsIsNamedWithItsLastWords) {
  Watched watched(options_for("exits"));
  ASSERT_TRUE(watched.wait_failed(std::chrono::seconds(60)));
  EXPECT_THAT(watched.failed->message, HasSubstr("rank 1 ended with status 9"));
  EXPECT_EQ(watched.failed->cause, EndCause::exited);
  EXPECT_THAT(watched.failed->message, HasSubstr("rank 1: the disk is on fire"));
}

TEST_F(GroupTest, BytesThatAreNoMessageEndTheGroup) {
  Watched watched(options_for("garbage"));
  ASSERT_TRUE(watched.wait_failed(std::chrono::seconds(60)));
  EXPECT_THAT(watched.failed->message, HasSubstr("message kind 0xff"));
  EXPECT_FALSE(watched.left_at_failure);
}

TEST_F(GroupTest, RanksThatNeverEndAreKilledAfterTheGraceTime) {
  Watched watched(options_for("never-ends"));
  ASSERT_TRUE(watched.wait_ready());
  watched.group->send(step_of(1, {5}));
  watched.group->stop();
  EXPECT_TRUE(nothing_left(getpid()));
  EXPECT_EQ(watched.steps.size(), 1u);
  ASSERT_TRUE(watched.wait_failed());
  EXPECT_THAT(watched.failed->message, HasSubstr("did not stop when asked"));
}

TEST_F(GroupTest, SignalsToOurProcessGroupDoNotReachTheRanks) {
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_NE(getsid(watched.pid_of(rank)), getsid(0)) << "rank " << rank;
    EXPECT_NE(getpgid(watched.pid_of(rank)), getpgrp()) << "rank " << rank;
  }
  watched.group->stop();
}

TEST_F(GroupTest, DescriptorsOfTheFrontDoNotReachTheRanks) {
  const Descriptor leaky(open("/dev/zero", O_RDONLY));  // without close-on-exec, as libraries do
  Watched watched(options_for("ok"));
  ASSERT_TRUE(watched.wait_ready());
  for (const pid_t pid : processes_of(getpid())) {
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
      std::error_code gone;
      EXPECT_NE(fs::read_symlink(entry.path(), gone), "/dev/zero") << "process " << pid;
    }
  }
  watched.group->stop();
  watched.group.reset();
}

// What becomes of the ranks when the front itself is killed, in every phase.
TEST_F(GroupTest, AKilledFrontTakesEverythingWithIt) {
  for (const std::string model : {"ok", "loads-for-ever"}) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Descriptor told(ends[0]);
    Descriptor tell(ends[1]);
    const pid_t front = fork();
    if (front == 0) {
      Watched watched(options_for(model));
      watched.wait([&] { return watched.ready || (model != "ok" && watched.progress > 0); },
                   std::chrono::seconds(60));
      (void)!write(tell.get(), "r", 1);
      for (;;) pause();
    }
    tell.reset();
    char word = 0;
    ASSERT_EQ(read(told.get(), &word, 1), 1);
    ASSERT_EQ(processes_of(front, "fake_rank").size(), 3u);
    ASSERT_TRUE(folders_left(front));
    kill(front, SIGKILL);
    ASSERT_EQ(waitpid(front, nullptr, 0), front);
    EXPECT_TRUE(comes_true([&] { return nothing_left(front); })) << model;
    // And a new group starts right away.
    BlockingGroup again(options_for("ok"));
    EXPECT_EQ(again.run(step_of(1, {2, 3})).slices[0].token, 5);
  }
}

TEST_F(GroupTest, WhatCannotBeStartedIsRefusedWithAHint) {
  const auto refusal = [](const GroupOptions& options) {
    try {
      Group::launch(options, {});
    } catch (const Error& error) {
      return error.message() + " / " + error.hint();
    }
    return std::string();
  };
  GroupOptions options = options_for("ok");
  options.rank_program = "/nonexistent/dure-rank";
  EXPECT_THAT(refusal(options), HasSubstr("/nonexistent/dure-rank"));
  options = options_for("ok");
  options.hosts_file = "/nonexistent/hosts";
  EXPECT_THAT(refusal(options), HasSubstr("hosts file /nonexistent/hosts"));
  options = options_for("ok");
  options.start.layout.ep = 2;
  EXPECT_THAT(refusal(options), HasSubstr("--ep 2 does not divide"));

  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  EXPECT_THAT(refusal(options_for("ok")), HasSubstr("apt install openmpi-bin"));
  setenv("PATH", path.c_str(), 1);
}

TEST_F(GroupTest, ABlockingGroupRunsStepsAndThrowsWhatTheGroupFailedWith) {
  int progress = 0;
  {
    BlockingGroup group(options_for("noisy"), [&](const LoadProgress&) { ++progress; });
    EXPECT_EQ(group.ready().ranks.size(), 3u);
    EXPECT_EQ(group.run(step_of(7, {1, 2, 3})).slices[0].token, 6);
    EXPECT_EQ(group.run(step_of(8, {4})).id, 8u);
    EXPECT_EQ(group.stats().dropped_slots, 2);
    kill(group.ready().ranks[1].pid, SIGKILL);
    try {
      group.run(step_of(9, {1}));
      group.run(step_of(10, {1}));  // should the first one have been answered before the kill
      FAIL() << "ran on";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("rank 1"));
    }
  }
  EXPECT_EQ(progress, 1);
  try {
    BlockingGroup group(options_for("bad"));
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.message(), "model bad has no weights");
    EXPECT_EQ(error.hint(), "download it again");
  }
}

}  // namespace
}  // namespace dure
