// See child_process.h.
#include "group/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/error.h"

namespace dure {
namespace {

std::vector<std::string> merged_environment(const std::vector<std::string>& ours) {
  std::vector<std::string> result = ours;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view have = *entry;
    const std::string_view name = have.substr(0, have.find('=') + 1);
    bool replaced = false;
    for (const std::string& mine : ours) replaced = replaced || mine.starts_with(name);
    if (!replaced) result.emplace_back(have);
  }
  return result;
}

std::vector<char*> pointers_of(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

struct ChildPlan {  // everything the child needs, made before the fork
  char** argv;
  char** envp;
  int input;
  int output;
  int report;  // errno goes here when the program cannot be started
  bool dies_with_caller;
  pid_t parent;
};

// Between fork and exec: other threads' locks may be held for ever, so system calls only.
[[noreturn]] void become(const ChildPlan& plan) {
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  bool good = !plan.dies_with_caller || prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (plan.dies_with_caller && getppid() != plan.parent) _exit(127);  // it is gone already
  good = good && dup2(plan.input, STDIN_FILENO) >= 0 && dup2(plan.output, STDOUT_FILENO) >= 0 &&
         dup2(plan.output, STDERR_FILENO) >= 0;
  // Libraries open descriptors without close-on-exec; a listening port must not live on in a rank.
  good = good && close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
  if (good) execve(plan.argv[0], plan.argv, plan.envp);
  const int reason = errno;
  (void)!write(plan.report, &reason, sizeof reason);
  _exit(127);
}

struct ProcessStat {
  char state = 0;
  pid_t session = 0;
  int status = 0;  // wait status, once ended
  bool ended() const { return state == 'Z' || state == 'X'; }
};

// As /proc/<pid>/stat tells it (proc(5)); nothing if the process is gone.
std::optional<ProcessStat> read_stat(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const size_t at = text.rfind(')');  // the name before it may hold anything
  if (at == std::string::npos) return std::nullopt;
  ProcessStat stat;
  int parent = 0;
  int group = 0;
  if (std::sscanf(text.c_str() + at + 1, " %c %d %d %d", &stat.state, &parent, &group,
                  &stat.session) != 4) {
    return std::nullopt;
  }
  stat.status = std::atoi(text.c_str() + text.rfind(' ') + 1);  // the last field
  return stat;
}

}  // namespace

pid_t spawn(const SpawnOptions& options) {
  std::vector<std::string> command = options.command;
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv = pointers_of(command);
  const std::vector<char*> envp = pointers_of(environment);
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  int report[2];
  if (!null || pipe2(report, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  }
  const Descriptor report_read(report[0]);
  Descriptor report_write(report[1]);
  const ChildPlan plan = {const_cast<char**>(argv.data()),
                          const_cast<char**>(envp.data()),
                          options.input >= 0 ? options.input : null.get(),
                          options.output >= 0 ? options.output : null.get(),
                          report_write.get(),
                          options.dies_with_caller,
                          getpid()};
  // No handler of this program may run in the child before it has reset them all.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) become(plan);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot start {}: {}", command[0], std::strerror(fork_error)));
  }
  report_write.reset();
  int reason = 0;
  ssize_t n = 0;
  do {
    n = read(report_read.get(), &reason, sizeof reason);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof reason) {
    reap(child);
    throw Error(ErrorCode::failed,
                fmt::format("cannot start {}: {}", command[0], std::strerror(reason)));
  }
  return child;
}

Descriptor watch_child(pid_t child) {
  Descriptor result(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (!result) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot watch process {}: {}", child, std::strerror(errno)));
  }
  return result;
}

std::vector<pid_t> living_in_session(pid_t leader) {
  std::vector<pid_t> result;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const pid_t pid = std::atoi(it->path().filename().c_str());
    if (pid <= 0) continue;
    const std::optional<ProcessStat> stat = read_stat(it->path());
    if (stat && stat->session == leader && !stat->ended()) result.push_back(pid);
  }
  return result;
}

std::vector<ChildState> children_of(pid_t parent) {
  std::vector<ChildState> result;
  std::error_code error;
  const std::filesystem::path proc = "/proc";
  for (std::filesystem::directory_iterator it(proc / std::to_string(parent) / "task", error), end;
       !error && it != end; it.increment(error)) {
    std::ifstream file(it->path() / "children");
    for (pid_t pid = 0; file >> pid;) {
      const std::optional<ProcessStat> stat = read_stat(proc / std::to_string(pid));
      if (stat) result.push_back({pid, stat->ended(), stat->status});
    }
  }
  return result;
}

bool is_stopped(pid_t pid) {
  const std::optional<ProcessStat> stat = read_stat(fmt::format("/proc/{}", pid));
  return stat && stat->state == 'T';
}

bool kill_session(pid_t leader) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    const std::vector<pid_t> living = living_in_session(leader);
    if (living.empty()) return true;
    if (std::chrono::steady_clock::now() > give_up) return false;
    for (const pid_t pid : living) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool end_within(pid_t child, std::chrono::milliseconds limit) {
  const Descriptor ended = watch_child(child);
  pollfd watched = {ended.get(), POLLIN, 0};
  return poll(&watched, 1, static_cast<int>(limit.count())) > 0;
}

int reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;  // someone else waits for all children; the status is lost
  }
  return status;
}

}  // namespace dure
