// How much memory this machine still has for ranks: what the kernel calls available, within the
// limits that a container sets.
#pragma once

#include <cstdint>
#include <filesystem>

namespace dure {

// Bytes. `root` stands for "/" (tests). Limits of cgroups v2 and v1 are those of this process's
// group and its parents; page cache of the group counts as available.
int64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace dure
