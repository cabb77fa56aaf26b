// See shared_room.h.
#include "group/shared_room.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <limits>

#include "base/error.h"
#include "base/units.h"

namespace dure {
namespace {

// Read off Open MPI 4.1's files: two of 4 MiB for mpirun's own, and one that grows up to 4 MiB for
// each rank. The rest is small: sockets, names, locks.
constexpr int64_t of_mpirun = int64_t{9} << 20;
constexpr int64_t of_each_rank = (int64_t{4} << 20) + (int64_t{64} << 10);

}  // namespace

SharedRoom look_at(const std::filesystem::path& folder) {
  SharedRoom room{folder, access(folder.c_str(), W_OK | X_OK) == 0, 0};
  struct statvfs facts {};
  if (statvfs(folder.c_str(), &facts) != 0) return room;
  const bool unlimited = facts.f_blocks == 0;  // as a tmpfs without a size says it
  room.free = unlimited ? std::numeric_limits<int64_t>::max()
                        : static_cast<int64_t>(facts.f_bavail * facts.f_frsize);
  return room;
}

int64_t shared_bytes_of(int ranks) {
  return of_mpirun + of_each_rank * ranks;
}

std::filesystem::path choose_room(const std::vector<SharedRoom>& rooms, int ranks) {
  const int64_t needed = shared_bytes_of(ranks);
  std::vector<std::string> found;
  for (const SharedRoom& room : rooms) {
    if (room.writable && room.free >= needed) return room.folder;
    found.push_back(room.writable
                        ? fmt::format("{} has {}", room.folder.string(), format_bytes(room.free))
                        : fmt::format("{} cannot be written", room.folder.string()));
  }
  throw Error(ErrorCode::failed,
              fmt::format("{} rank{} here may share {}, but {}", ranks, ranks == 1 ? "" : "s",
                          format_bytes(needed), fmt::join(found, " and ")),
              "give /dev/shm more room (in Docker: --shm-size 1g), or set TMPDIR to a folder that "
              "has it");
}

}  // namespace dure
