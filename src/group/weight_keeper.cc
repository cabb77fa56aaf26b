// See weight_keeper.h.
#include "group/weight_keeper.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "group/child_process.h"
#include "group/launch_command.h"

namespace dure {
namespace {

// Nobody can have taken it before: names of sockets are not owned by users.
std::string new_name() {
  std::random_device random;
  return fmt::format("dure-keeper-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(),
                     random());
}

std::filesystem::path folder_for_files() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

}  // namespace

WeightKeeper::WeightKeeper(std::filesystem::path rank_program, std::string hosts_file,
                           LogFormat log)
    : rank_program_(std::move(rank_program)), hosts_file_(std::move(hosts_file)), log_(log) {}

WeightKeeper::~WeightKeeper() {
  end();
}

std::string WeightKeeper::running(const std::function<void(const Event&)>& say) {
  const std::lock_guard lock(mutex_);
  int status = 0;
  if (pid_ >= 0 && waitpid(pid_, &status, WNOHANG | WUNTRACED) == 0) return name_;
  const bool stopped = pid_ >= 0 && WIFSTOPPED(status);
  if (stopped) {  // ranks would wait for its answers in vain
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (pid_ >= 0 && say) {
    Event event{Level::warning, "keeper_died",
                fmt::format("the keeper of weights (pid {}) {}: another one is started", pid_,
                            stopped ? "was stopped by a signal, and is ended" : "had died")};
    event.pid = pid_;
    say(event);
  }
  pid_ = -1;
  start();
  return name_;
}

pid_t WeightKeeper::pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

void WeightKeeper::start() {
  name_ = new_name();
  SpawnOptions spawning;
  spawning.command = keeper_command(rank_program_, hosts_file_, name_, log_);
  spawning.dies_with_caller = true;
  if (hosts_file_.empty()) {
    spawning.output = STDERR_FILENO;  // it tells of ranks that it had to end
  } else {
    // What mpirun and ssh say of hosts that cannot be reached, the ranks' own start says as well.
    if (!folder_) folder_ = std::make_unique<PrivateFolder>(folder_for_files());
    spawning.environment = {"TMPDIR=" + folder_->path().string()};
  }
  pid_ = spawn(spawning);
}

void WeightKeeper::end() {
  if (pid_ < 0) return;
  if (!hosts_file_.empty()) {
    // Keepers on other hosts: mpirun ends them.
    kill(pid_, SIGTERM);
    end_within(pid_, std::chrono::seconds(3));
  }
  kill_session(pid_);
  reap(pid_);
  pid_ = -1;
}

}  // namespace dure
