// Finds processes of a group that were stopped (SIGSTOP, a debugger's shell, a job manager): they
// are not dead, so that nobody else says it, and while no step is out nobody waits for them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

namespace dure {

class StopWatch {
 public:
  static constexpr std::chrono::milliseconds interval{1000};  // from look to look
  // A pause may be meant, and one of the whole machine or container pauses the looks as well.
  static constexpr int patience = 5;  // looks in a row that find it stopped

  explicit StopWatch(pid_t mpirun) : mpirun_(mpirun) {}

  // mpirun or a child of it that has been stopped for too long.
  std::optional<pid_t> look();

 private:
  pid_t mpirun_;
  std::map<pid_t, int> stopped_;  // looks in a row
};

}  // namespace dure
