// See machine_memory.h.
#include "cluster/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace dure {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  int64_t number = 0;
  if (!(in >> number)) return std::nullopt;  // absent, or "max"
  return number;
}

// The value behind a key of "key value" lines (/proc/meminfo, memory.stat).
std::optional<int64_t> value_of(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    int64_t number = 0;
    if (word == key && in >> number) return number;
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache;  // key in memory.stat
};

constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

// What one group still allows, or no limit.
int64_t room_in(const fs::path& group, const GroupFiles& files) {
  const std::optional<int64_t> limit = number_in(group / files.limit);
  if (!limit) return std::numeric_limits<int64_t>::max();
  const int64_t usage = number_in(group / files.usage).value_or(0);
  const int64_t cache = value_of(group / "memory.stat", files.cache).value_or(0);
  return std::max<int64_t>(*limit - std::max<int64_t>(usage - cache, 0), 0);
}

// This process's group below `mount`, from a line of /proc/self/cgroup; in a container the path
// may be one that only the host sees, and then the mount itself is our group.
int64_t room_in_hierarchy(const fs::path& mount, std::string path, const GroupFiles& files) {
  while (!path.empty() && path.front() == '/') path.erase(0, 1);
  int64_t room = room_in(mount, files);
  fs::path group = mount;
  for (const fs::path& part : fs::path(path)) {
    group /= part;
    room = std::min(room, room_in(group, files));
  }
  return room;
}

}  // namespace

int64_t available_memory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  int64_t room = value_of(meminfo, "MemAvailable:").value_or(0) * 1024;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      room = std::min(room, room_in_hierarchy(root / "sys/fs/cgroup", path, version_2));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      room = std::min(room, room_in_hierarchy(root / "sys/fs/cgroup/memory", path, version_1));
    }
  }
  return room;
}

}  // namespace dure
