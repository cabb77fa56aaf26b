// See rank_processes.h.
#include "group/rank_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "group/child_process.h"
#include "group/launch_command.h"
#include "group/shared_room.h"
#include "protocol/frame_socket.h"

namespace dure {
namespace {

std::filesystem::path base_folder(const GroupOptions& options) {
  const int ranks = options.hosts_file.empty() ? options.start.layout.world() : 0;
  const char* named = std::getenv("TMPDIR");
  const std::filesystem::path other = named != nullptr && *named != '\0' ? named : "/tmp";
  return choose_room({look_at("/dev/shm"), look_at(other)}, ranks);
}

void write_to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) line.remove_prefix(static_cast<size_t>(n));
  }
}

// Of a rank that goes on: what its line begins with tells how serious it is.
Event event_of(int rank, std::string_view text) {
  Event event{Level::info, "rank_said"};
  if (text.starts_with("warning: ")) {
    event.level = Level::warning;
    text.remove_prefix(std::string_view("warning: ").size());
  }
  event.rank = rank;
  event.message = fmt::format("rank {}: {}", rank, text);
  return event;
}

std::string hint_of(int signal) {
  switch (signal) {
    case SIGKILL:
      return "if nobody did, the machine ran out of memory: see dmesg";
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return "somebody asked it to end, or a job manager or the machine that shuts down; to end a "
             "group, signal `dure` itself";
    default:
      return "a fault of dure-rank: please report it with the command and what the rank said";
  }
}

std::string by_signal(int signal) {
  const char* name = strsignal(signal);
  return fmt::format("was killed by signal {} ({})", signal, name != nullptr ? name : "unknown");
}

}  // namespace

RankProcesses::RankProcesses(const GroupOptions& options, const std::string& keeper)
    : all_here_(options.hosts_file.empty()),
      folder_(base_folder(options)),
      places_(RankPlaces::make(folder_.path(), options.start.layout.world())),
      lines_([say = options.say](int rank, std::string_view text) {
        const Event event = event_of(rank, text);
        say ? say(event) : write_to_stderr(text_of(event) + "\n");
      }) {
  const std::filesystem::path socket = folder_.path() / "front";
  SpawnOptions spawning;
  spawning.command = launch_command(options, folder_.path(), socket, keeper);
  spawning.environment = {"TMPDIR=" + folder_.path().string()};
  spawning.dies_with_caller = true;
  listening_ = listen_at(socket);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot make a pipe to mpirun: {}", std::strerror(errno)));
  }
  output_read_ = Descriptor(ends[0]);
  const Descriptor output_write(ends[1]);
  fcntl(output_read_.get(), F_SETFL, O_NONBLOCK);
  spawning.output = output_write.get();
  mpirun_ = spawn(spawning);
  stop_watch_.emplace(mpirun_);
  if (all_here_) start_watch_.emplace(mpirun_, options.start.layout.world());
  try {
    ended_ = watch_child(mpirun_);
  } catch (const Error&) {
    end();
    throw;
  }
}

RankProcesses::~RankProcesses() {
  end();
}

void RankProcesses::read_output() {
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(output_read_.get(), buffer, sizeof buffer);
    if (n > 0) {
      lines_.feed({buffer, static_cast<size_t>(n)});
    } else if (n == 0) {
      output_read_.reset();  // no writer is left
      lines_.end();
      return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

bool RankProcesses::has_lost_a_rank() {
  if (!lost_ && start_watch_) lost_ = start_watch_->look(StartWatch::Clock::now());
  return lost_.has_value();
}

bool RankProcesses::has_a_stopped_one() {
  if (!stopped_ && mpirun_ >= 0) stopped_ = stop_watch_->look();
  return stopped_.has_value();
}

void RankProcesses::end() {
  if (mpirun_ < 0) return;
  if (!all_here_) {
    // Ranks on other hosts: mpirun ends them, if it can.
    kill(mpirun_, SIGTERM);
    pollfd watched = {ended_.get(), POLLIN, 0};
    (void)poll(&watched, 1, 3000);
  }
  kill_session(mpirun_);
  status_ = reap(mpirun_);
  mpirun_ = -1;
  if (output_read_) read_output();
  lines_.end();
}

void RankProcesses::place(GroupFailed& failed, const std::optional<GroupReady>& ready) const {
  failed.where = places_.where(failed.rank);
  if (!ready) return;
  for (const RankReport& report : ready->ranks) {
    if (report.rank != failed.rank) continue;
    failed.pid = report.pid;
    failed.host = report.host;
  }
}

std::string RankProcesses::name_of(int rank, const std::optional<GroupReady>& ready) const {
  if (ready) {
    for (const RankReport& report : ready->ranks) {
      if (report.rank != rank) continue;
      const std::string host = report.host.empty() ? "" : " on " + report.host;
      return fmt::format("rank {} (pid {}{})", rank, report.pid, host);
    }
  }
  return fmt::format("rank {}", rank);
}

GroupFailed RankProcesses::how_it_ended(const std::optional<GroupReady>& ready) const {
  GroupFailed failed;
  failed.code = static_cast<uint8_t>(ErrorCode::failed);
  const std::string words = lines_.last_words();
  const std::string said = words.empty() ? "" : ", having said: " + words;
  if (stopped_) {
    failed.rank = places_.rank_of(*stopped_);
    failed.cause = EndCause::stopped;
    failed.pid = *stopped_;
    place(failed, ready);
    const std::string name = failed.rank < 0 ? fmt::format("process {} of the group", *stopped_)
                             : ready         ? name_of(failed.rank, ready)
                                     : fmt::format("rank {} (pid {})", failed.rank, *stopped_);
    failed.message =
        fmt::format("{} has been stopped for {} s (SIGSTOP){}{}", name, StopWatch::patience,
                    places_.describe(failed.rank), places_.describe_waiting());
    failed.hint = "somebody or something stopped it: a debugger, a job manager";
    return failed;
  }
  if (const auto& death = lines_.death()) {
    failed.rank = death->rank;
    failed.cause = death->signal != 0 ? EndCause::killed : EndCause::exited;
    place(failed, ready);
    const std::string name = name_of(death->rank, ready);
    const std::string where = places_.describe(death->rank);
    if (death->signal != 0) {
      failed.message = fmt::format("{} {}{}{}", name, by_signal(death->signal), where, said);
      failed.hint = hint_of(death->signal);
    } else {
      failed.message =
          fmt::format("{} ended with status {}{}{}", name, death->status.value_or(0), where, said);
    }
    return failed;
  }
  if (lost_) {
    failed.rank = lost_->rank;
    const std::string name = lost_->rank < 0 ? "a rank" : name_of(lost_->rank, std::nullopt);
    const bool killed = WIFSIGNALED(lost_->status);
    failed.cause = killed ? EndCause::killed : EndCause::exited;
    failed.pid = lost_->pid;
    failed.message = fmt::format(
        "{} (pid {}) {} while the ranks started, which mpirun did not notice{}", name, lost_->pid,
        killed ? by_signal(WTERMSIG(lost_->status))
               : fmt::format("ended with status {}", WEXITSTATUS(lost_->status)),
        said);
    if (killed) failed.hint = hint_of(WTERMSIG(lost_->status));
    return failed;
  }
  failed.hint = all_here_
                    ? "check that `mpirun -n 1 true` works here"
                    : "check that `mpirun --hostfile FILE -n 1 true` works with this hosts file";
  const int status = status_.value_or(0);
  failed.cause = WIFSIGNALED(status) ? EndCause::killed : EndCause::exited;
  if (WIFSIGNALED(status)) {
    failed.message =
        fmt::format("mpirun, and the ranks with it, {}{}", by_signal(WTERMSIG(status)), said);
  } else {
    failed.message = fmt::format("the ranks ended by themselves, mpirun with status {}{}",
                                 WEXITSTATUS(status), said);
  }
  return failed;
}

}  // namespace dure
