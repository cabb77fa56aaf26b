// A folder of one group for sockets, MPI's session files and its shared memory: readable by this
// user alone, removed with the group. A small helper process outlives a killed owner just long
// enough to remove it; should that be killed too, the folder's name tells the next start that its
// owner is dead.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/descriptor.h"

namespace dure {

class PrivateFolder {
 public:
  // Makes <base>/dure-<uid>-<pid>-<start time>-<n>, mode 0700, and removes those of dead processes.
  // Throws failed with the path if the folder cannot be made.
  explicit PrivateFolder(const std::filesystem::path& base);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor alive_;  // the helper reads its other end: it closes when this process ends
  pid_t helper_ = -1;
};

// Removes folders under `base` that this user's dead processes left.
void remove_stale_folders(const std::filesystem::path& base);

}  // namespace dure
