// See stop_signals.h. The handler only writes to a pipe; programs started meanwhile get the default
// actions back, as exec() resets handlers (a blocked mask would be inherited instead).
#include "cli/stop_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

constexpr std::array stop_signals = {SIGINT, SIGTERM};
constexpr char signalled = 's';
constexpr char ended = 'e';

// A handler can reach nothing but globals. Read end, write end.
std::array<int, 2> stop_pipe = {-1, -1};

void on_stop_signal(int) {
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(stop_pipe[1], &signalled, 1);
  errno = before;
}

void set_handlers(void (*handler)(int)) {
  for (const int signal : stop_signals) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals(std::function<void(int)> on_signal) {
  DURE_CHECK(stop_pipe[0] < 0);
  if (::pipe2(stop_pipe.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::failed, "no pipe for signals: out of file descriptors");
  }
  set_handlers(on_stop_signal);
  thread_ = std::thread([on_signal = std::move(on_signal)] {
    int count = 0;
    for (char what = 0;;) {
      const ssize_t got = ::read(stop_pipe[0], &what, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got != 1 || what == ended) return;
      on_signal(++count);
    }
  });
}

StopSignals::~StopSignals() {
  set_handlers(SIG_DFL);
  [[maybe_unused]] const ssize_t written = ::write(stop_pipe[1], &ended, 1);
  thread_.join();
  for (int& end : stop_pipe) ::close(std::exchange(end, -1));
}

}  // namespace dure
