// See rank_guard.h.
#include "comm/rank_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.h"

namespace dure {

void die_with_parent() {
  // A parent that died before this call leaves a process without its launcher, which MPI's own
  // start then refuses.
  DURE_CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
}

FrontWatch::FrontWatch(int front_socket) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::failed, "cannot watch the front's socket: no file descriptors left",
                "raise the limit of open files (ulimit -n)");
  }
  stop_read_ = Descriptor(ends[0]);
  stop_write_ = Descriptor(ends[1]);
  thread_ = std::thread([front_socket, stop = stop_read_.get()] {
    pollfd watched[2] = {{front_socket, POLLRDHUP, 0}, {stop, POLLIN, 0}};
    for (;;) {
      if (poll(watched, 2, -1) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (watched[1].revents != 0) return;
      // No destructors, no MPI_Finalize: the main thread may be anywhere.
      if (watched[0].revents != 0) _exit(3);
    }
  });
}

FrontWatch::~FrontWatch() {
  stop_write_.reset();
  thread_.join();
}

}  // namespace dure
