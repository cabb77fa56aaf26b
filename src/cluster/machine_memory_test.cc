#include "cluster/machine_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace dure {
namespace {

namespace fs = std::filesystem;

class Machine {
 public:
  Machine() {
    std::string name = (fs::temp_directory_path() / "dure-machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
    write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 800 kB\n");
  }
  ~Machine() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(MachineMemory, IsWhatTheKernelCallsAvailableWithoutALimit) {
  const Machine machine;
  EXPECT_EQ(available_memory(machine.root()), 800 * 1024);
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available_memory(machine.root()), 800 * 1024);
}

TEST(MachineMemory, IsTheRoomThatTheTightestGroupLeaves) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/pod/box\n");
  machine.write("sys/fs/cgroup/pod/memory.max", "500000\n");
  machine.write("sys/fs/cgroup/pod/memory.current", "450000\n");
  machine.write("sys/fs/cgroup/pod/memory.stat", "anon 1\ninactive_file 150000\n");
  machine.write("sys/fs/cgroup/pod/box/memory.max", "400000\n");
  machine.write("sys/fs/cgroup/pod/box/memory.current", "100000\n");
  EXPECT_EQ(available_memory(machine.root()), 200000);
}

TEST(MachineMemory, ReadsGroupsOfTheFirstVersionToo) {
  const Machine machine;
  machine.write("proc/self/cgroup", "4:cpu,memory:/box\n2:pids:/\n");
  machine.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "300000\n");
  machine.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(available_memory(machine.root()), 200000);
}

TEST(MachineMemory, OfTheRealMachineIsSomething) {
  EXPECT_GT(available_memory(), int64_t{1} << 20);
}

}  // namespace
}  // namespace dure
