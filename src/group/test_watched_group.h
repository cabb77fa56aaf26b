// For tests: groups of real processes over MPI (fake_rank_main.cc) whose events are remembered, and
// a fixture that sees to it that none of them leaves a process, folder or descriptor.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "group/group.h"

namespace dure {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The time that the promise "gone within seconds" allows.
inline constexpr std::chrono::seconds promised{5};

template <typename Condition>
bool comes_true(Condition condition, std::chrono::seconds limit = promised) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline std::string folder_name_of(pid_t owner) {
  return fmt::format("dure-{}-{}-", getuid(), owner);
}

// Every process that a group of `owner` consists of names the group's folder in its arguments.
inline std::vector<pid_t> processes_of(pid_t owner, std::string_view program = "") {
  std::vector<pid_t> result;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(folder_name_of(owner)) == std::string::npos) continue;
    if (text.substr(0, text.find('\0')).ends_with(program)) result.push_back(pid);
  }
  return result;
}

inline bool folders_left(pid_t owner) {
  for (const fs::path& base : {fs::path("/dev/shm"), fs::temp_directory_path()}) {
    if (!fs::exists(base)) continue;
    for (const auto& entry : fs::directory_iterator(base)) {
      if (entry.path().filename().native().starts_with(folder_name_of(owner))) return true;
    }
  }
  return false;
}

inline bool nothing_left(pid_t owner) {
  return processes_of(owner).empty() && !folders_left(owner);
}

inline GroupOptions options_for(const std::string& model, int ranks = 3) {
  GroupOptions options;
  options.start.model = model;
  options.start.layout.tp = ranks;
  options.rank_program = FAKE_RANK;
  return options;
}

inline Step step_of(uint64_t id, std::vector<int32_t> tokens) {
  Step step;
  step.id = id;
  step.slices.resize(1);
  step.slices[0].tokens = std::move(tokens);
  return step;
}

// A group whose events are remembered.
class Watched {
 public:
  explicit Watched(const GroupOptions& options) {
    Group::Events events;
    events.on_progress = [this](const LoadProgress&) { note([&] { ++progress; }); };
    events.on_ready = [this](const GroupReady& event) { note([&] { ready = event; }); };
    events.on_step = [this](StepDone event) { note([&] { steps.push_back(event); }); };
    events.on_failed = [this](const GroupFailed& event) {
      note([&] {
        ++failures;
        failed = event;
        left_at_failure = !nothing_left(getpid());
      });
    };
    group = Group::launch(options, std::move(events));
  }

  template <typename Condition>
  bool wait(Condition condition, std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, condition);
  }
  bool wait_ready() {  // or failed
    return wait([&] { return ready || failed; }, std::chrono::seconds(60)) && ready;
  }
  bool wait_failed(std::chrono::seconds limit = promised) {
    return wait([&] { return failed.has_value(); }, limit);
  }
  pid_t pid_of(size_t rank) { return ready->ranks[rank].pid; }

  int progress = 0;
  std::optional<GroupReady> ready;
  std::vector<StepDone> steps;
  std::optional<GroupFailed> failed;
  int failures = 0;
  bool left_at_failure = false;
  std::unique_ptr<Group> group;

 private:
  template <typename Change>
  void note(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

class GroupTest : public testing::Test {
 protected:
  static std::ptrdiff_t open_descriptors() {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  }
  void TearDown() override {
    EXPECT_TRUE(nothing_left(getpid()));
    EXPECT_EQ(open_descriptors(), descriptors_before_);
  }
  std::ptrdiff_t descriptors_before_ = open_descriptors();
};

}  // namespace dure
