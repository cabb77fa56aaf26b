// The command that starts a group's ranks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "group/group.h"
#include "trace/event.h"

namespace dure {

// mpirun with the ranks' program, told to keep shared memory in `folder`, to reach us at `socket`
// and, unless its name is empty, the keeper of weights. Its other files go where TMPDIR says.
// Throws failed with a hint when mpirun is not on PATH or the program is not there, and bad_input
// when the hosts file cannot be read.
std::vector<std::string> launch_command(const GroupOptions& options,
                                        const std::filesystem::path& folder,
                                        const std::filesystem::path& socket,
                                        const std::string& keeper);

// The program that keeps weights under `name`: alone, or on every host of a hosts file, which
// mpirun starts; `log` is how it writes to stderr. Throws as launch_command does.
std::vector<std::string> keeper_command(const std::filesystem::path& rank_program,
                                        const std::string& hosts_file, const std::string& name,
                                        LogFormat log);

}  // namespace dure
