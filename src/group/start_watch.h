// Looks after the ranks while mpirun starts them. One that is killed in that moment can escape
// mpirun, which then waits for it without an end: it is seen here as a child that has ended and
// that mpirun does not wait for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

#include "group/child_process.h"

namespace dure {

struct LostRank {
  int rank = -1;  // -1: not known
  pid_t pid = -1;
  int status = 0;  // wait status
};

class StartWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds interval{500};  // from look to look
  static constexpr std::chrono::seconds patience{2};         // that mpirun has to notice

  StartWatch(pid_t mpirun, int ranks) : mpirun_(mpirun), ranks_(ranks) {}

  // The rank that mpirun has missed, once there is one; of several the one that a signal ended.
  std::optional<LostRank> look(Clock::time_point now);

 private:
  pid_t mpirun_;
  int ranks_;
  std::map<pid_t, Clock::time_point> ended_;  // when first seen so
};

}  // namespace dure
