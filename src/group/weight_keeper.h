// The keepers of a group's weights (keeper/keeper.h), as the group's owner sees them: one process
// on each host, started before the ranks and again when it is found dead; ended with this object,
// or with this process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "group/private_folder.h"
#include "trace/event.h"

namespace dure {

class WeightKeeper {
 public:
  // Starts nothing yet. `hosts_file` and `rank_program` as in GroupOptions.
  WeightKeeper(std::filesystem::path rank_program, std::string hosts_file,
               LogFormat log = LogFormat::text);
  ~WeightKeeper();
  WeightKeeper(const WeightKeeper&) = delete;
  WeightKeeper& operator=(const WeightKeeper&) = delete;

  // The name under which ranks find the keeper of their host, started now if need be. The calling
  // thread must live as long as the group: the kernel ends the keeper with it; `say` is told where
  // it had died. Throws failed if it cannot be started.
  std::string running(const std::function<void(const Event&)>& say = {});
  // Its process, or that of the mpirun that started one on each host; -1 before the first start.
  pid_t pid() const;

 private:
  void start();
  void end();

  std::filesystem::path rank_program_;
  std::string hosts_file_;
  LogFormat log_;
  mutable std::mutex mutex_;  // guards the rest
  std::string name_;
  pid_t pid_ = -1;
  std::unique_ptr<PrivateFolder> folder_;  // for mpirun's files
};

}  // namespace dure
