// See keeper.h.
#include "keeper/keeper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "keeper/keeper_socket.h"

namespace dure {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds look_interval{1000};  // at the parent and at ranks

struct Kept {
  Descriptor file;
  KeptRecord record;
};

struct WatchedRank {
  pid_t pid = -1;
  Descriptor process;  // pidfd: that very process, whoever gets its number later
  int stopped = 0;     // looks in a row
};

// 'T' if a signal has stopped it, as /proc/<pid>/stat says (proc(5)).
char state_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t at = text.rfind(')');  // the name before it may hold anything
  return at == std::string::npos || at + 2 >= text.size() ? '\0' : text[at + 2];
}

class Keeper {
 public:
  explicit Keeper(LogFormat log) : log_(log) {}

  void serve(int socket) {
    std::optional<ReceivedMessage> request = receive_message(socket);
    if (!request) return;
    KeeperMessage answer;
    answer.rank = request->message.rank;
    const pid_t pid = peer_of(socket);
    ranks_[answer.rank] = {pid, Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), 0};
    int file = -1;
    switch (request->message.call) {
      case KeeperCall::take:
        if (const auto at = kept_.find(answer.rank); at != kept_.end()) {
          answer.done = 1;
          answer.record = at->second.record;
          file = at->second.file.get();
        }
        break;
      case KeeperCall::keep:
        if (holds(*request)) {
          answer.done = 1;
          kept_[answer.rank] = {std::move(request->file), request->message.record};
        }
        break;
      case KeeperCall::drop:
        answer.done = 1;
        kept_.erase(answer.rank);
        break;
      case KeeperCall::answer:
        break;
    }
    send_message(socket, answer, file);
  }

  void look_at_ranks() {
    for (auto& [rank, watched] : ranks_) {
      watched.stopped = state_of(watched.pid) == 'T' ? watched.stopped + 1 : 0;
      if (watched.stopped != keeper_stop_patience) continue;
      if (syscall(SYS_pidfd_send_signal, watched.process.get(), SIGKILL, nullptr, 0) == 0) {
        Event event{Level::warning, "keeper_ended_rank",
                    fmt::format("rank {} (pid {} on {}) has been stopped for {} s (SIGSTOP) and is "
                                "ended, for its group to start again",
                                rank, watched.pid, host_name(), keeper_stop_patience)};
        event.cause = "stopped";
        event.rank = rank;
        event.pid = watched.pid;
        event.host = host_name();
        std::fprintf(stderr, "%s\n", line_of(event, log_).c_str());
      }
    }
  }

 private:
  // Whether what it brings is as large as it says.
  static bool holds(const ReceivedMessage& request) {
    struct stat facts {};
    return request.file && fstat(request.file.get(), &facts) == 0 &&
           request.message.record.bytes <= facts.st_size;
  }

  LogFormat log_;
  std::map<int, Kept> kept_;  // by rank
  std::map<int, WatchedRank> ranks_;
};

}  // namespace

int run_keeper(const std::string& name, LogFormat log) {
  prctl(PR_SET_NAME, "dure-keeper");
  const pid_t parent = getppid();
  const Descriptor listening = listen_as_keeper(name);
  Keeper keeper(log);
  Clock::time_point next_look = Clock::now() + look_interval;
  while (getppid() == parent) {
    if (Clock::now() >= next_look) {
      keeper.look_at_ranks();
      next_look = Clock::now() + look_interval;
    }
    pollfd watched = {listening.get(), POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(look_interval.count())) <= 0) continue;
    const Descriptor socket = accept_from_user(listening.get());
    if (!socket) continue;
    try {
      keeper.serve(socket.get());
    } catch (const Error&) {
      // The rank has died meanwhile: nobody is left to tell.
    }
  }
  return 0;
}

}  // namespace dure
