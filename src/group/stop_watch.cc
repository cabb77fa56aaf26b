// See stop_watch.h.
#include "group/stop_watch.h"

#include <vector>

#include "group/child_process.h"

namespace dure {

std::optional<pid_t> StopWatch::look() {
  std::vector<pid_t> watched = {mpirun_};
  for (const ChildState& child : children_of(mpirun_)) watched.push_back(child.pid);
  std::map<pid_t, int> now;
  std::optional<pid_t> found;
  for (const pid_t pid : watched) {
    if (!is_stopped(pid)) continue;
    const auto before = stopped_.find(pid);
    const int looks = before == stopped_.end() ? 1 : before->second + 1;
    now[pid] = looks;
    if (looks >= patience && !found) found = pid;
  }
  stopped_ = std::move(now);
  return found;
}

}  // namespace dure
