// For tests: a keeper in a process of its own.
#pragma once

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/error.h"
#include "keeper/keeper.h"
#include "keeper/keeper_client.h"

namespace dure {

class TestKeeper {
 public:
  TestKeeper() : name_(fmt::format("dure-test-{}-{}", getpid(), count_++)) {
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(run_keeper(name_));
    }
    while (!answers()) usleep(1000);
  }
  ~TestKeeper() { end(); }

  void end() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }

 private:
  bool answers() const {
    try {
      (void)KeeperClient(name_, 0).take();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  static inline int count_ = 0;
  std::string name_;
  pid_t pid_ = -1;
};

}  // namespace dure
