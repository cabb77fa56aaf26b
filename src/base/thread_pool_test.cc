#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace dure {
namespace {

TEST(ThreadPool, CallsEveryIndexExactlyOnceForAnyThreadAndIndexCount) {
  for (int threads : {0, 1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1));
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      std::atomic<bool> thread_in_range{true};
      pool.run(count, [&](int64_t i, int thread) {
        calls[static_cast<size_t>(i)]++;
        if (thread < 0 || thread >= pool.threads()) thread_in_range = false;
      });
      for (auto& n : calls) EXPECT_EQ(n.load(), 1);
      EXPECT_TRUE(thread_in_range.load());
    }
  }
}

TEST(ThreadPool, NoTwoThreadsShareANumberDuringARun) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> clashes{0};
  for (int run = 0; run < 200; ++run) {
    pool.run(64, [&](int64_t, int thread) {
      if (busy[static_cast<size_t>(thread)].exchange(1) != 0) clashes++;
      busy[static_cast<size_t>(thread)].store(0);
    });
  }
  EXPECT_EQ(clashes.load(), 0);
}

TEST(ThreadPool, WritesOfManyShortRunsAreSeenByTheCaller) {
  ThreadPool pool(4);
  std::vector<int64_t> sums(16, 0);
  for (int64_t run = 0; run < 20000; ++run) {
    pool.run(16, [&](int64_t i, int) { sums[static_cast<size_t>(i)] += run + i; });
  }
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(sums[static_cast<size_t>(i)], 20000 * 19999 / 2 + 20000 * i);
  }
}

TEST(ThreadPool, WorkersThatWentToSleepJoinALaterRun) {
  ThreadPool pool(2);
  for (int run = 0; run < 5; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than workers spin
    // Each call waits for the other: this can only end when both threads take part.
    std::atomic<int> arrived{0};
    pool.run(2, [&](int64_t, int) {
      arrived++;
      while (arrived.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(arrived.load(), 2);
  }
}

// States of this process's threads: 'R' runs, 'S' sleeps (proc_pid_stat(5)).
std::string thread_states() {
  std::string states;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    if (name_end != std::string::npos && name_end + 2 < line.size()) states += line[name_end + 2];
  }
  return states;
}

TEST(ThreadPool, IdleWorkersSleep) {
  ThreadPool pool(4);
  pool.run(100, [](int64_t, int) {});
  // Workers that spun for good would never be seen asleep together.
  std::string states;
  for (int i = 0; i < 2000; ++i) {
    states = thread_states();
    if (std::count(states.begin(), states.end(), 'S') >= 3) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(std::count(states.begin(), states.end(), 'S'), 3) << states;
}

// In a process of its own, which gets no more address space than a few stacks take.
TEST(ThreadPool, SaysWhereTheSystemGivesNoMoreThreads) {
  const auto start_too_many = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (int64_t{20} << 20));
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(64);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.message().c_str());
      std::_Exit(7);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start_too_many(), ::testing::ExitedWithCode(7),
              "the system gives no more than [0-9]+ of 64 threads");
}

}  // namespace
}  // namespace dure
