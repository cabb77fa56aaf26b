// See backoff.h.
#include "comm/backoff.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>

namespace dure {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

WaitPolicy step_wait_policy(bool crowded) {
  if (crowded) return {microseconds(0), microseconds(2000), microseconds(100), 16};
  return {microseconds(1000), microseconds(5000), microseconds(100), 16};
}

// A look costs 10 to 20 us: after a second of silence a rank spends half a percent of a core.
WaitPolicy idle_wait_policy() {
  return {microseconds(0), microseconds(200), microseconds(4000), 256};
}

bool Backoff::pause(int descriptor) {
  now_ = Clock::now();
  const auto elapsed = now_ - start_;
  if (elapsed < policy_.spin) return false;
  nanoseconds nap{0};
  if (!naps()) {
    sched_yield();
    if (descriptor < 0) return false;
  } else {
    nap = std::min<nanoseconds>(elapsed / policy_.nap_share, policy_.longest_nap);
  }
  const timespec time = {0, nap.count()};
  if (descriptor < 0) {
    nanosleep(&time, nullptr);
    return false;
  }
  pollfd watched = {descriptor, POLLIN, 0};
  return ppoll(&watched, 1, &time, nullptr) > 0;
}

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

void use_fine_timers() {
  prctl(PR_SET_TIMERSLACK, 1000UL);
}

}  // namespace dure
