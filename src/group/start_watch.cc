// See start_watch.h.
#include "group/start_watch.h"

#include <sys/wait.h>

#include <vector>

namespace dure {

std::optional<LostRank> StartWatch::look(Clock::time_point now) {
  const std::vector<ChildState> children = children_of(mpirun_);
  // mpirun starts ranks in order, so that places are ranks while it has waited for none of them.
  const bool in_order = children.size() == static_cast<size_t>(ranks_);
  std::optional<LostRank> lost;
  bool overdue = false;
  for (size_t i = 0; i < children.size(); ++i) {
    const ChildState& child = children[i];
    if (!child.ended) continue;
    const auto seen = ended_.try_emplace(child.pid, now).first;
    overdue = overdue || now - seen->second >= patience;
    if (!lost || (WIFSIGNALED(child.status) && !WIFSIGNALED(lost->status))) {
      lost = LostRank{in_order ? static_cast<int>(i) : -1, child.pid, child.status};
    }
  }
  return overdue ? lost : std::nullopt;
}

}  // namespace dure
