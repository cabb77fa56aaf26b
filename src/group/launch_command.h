// The command that starts a group's ranks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "group/group.h"

namespace dure {

// mpirun with the ranks' program, told to keep shared memory in `folder` and to reach us at
// `socket`. Its other files go where TMPDIR says.
// Throws failed with a hint when mpirun is not on PATH or the program is not there, and bad_input
// when the hosts file cannot be read.
std::vector<std::string> launch_command(const GroupOptions& options,
                                        const std::filesystem::path& folder,
                                        const std::filesystem::path& socket);

}  // namespace dure
