// Where the files that a group's processes share go: into memory if it has room, since MPI maps
// them, and a mapped file that finds its file system full ends the process (SIGBUS) or hangs it.
// Containers often give /dev/shm no more than 64 MB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dure {

struct SharedRoom {
  std::filesystem::path folder;
  bool writable = false;
  int64_t free = 0;  // bytes
};

SharedRoom look_at(const std::filesystem::path& folder);

// What mpirun and so many ranks on this machine may fill, in bytes.
int64_t shared_bytes_of(int ranks);

// The first that has room for them. Throws failed, naming each one's room, if none has.
std::filesystem::path choose_room(const std::vector<SharedRoom>& rooms, int ranks);

}  // namespace dure
