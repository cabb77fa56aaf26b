// A folder of one group for sockets, MPI's session files and its shared memory: readable by this
// user alone, removed with the group. Its name holds the owner's process id, so that what a killed
// owner left behind is found and removed by the next start.
#pragma once

#include <filesystem>

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
};

// Removes folders under `base` that this user's dead processes left.
void remove_stale_folders(const std::filesystem::path& base);

}  // namespace dure
