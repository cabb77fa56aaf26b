// The life of a rank: gets its orders (rank 0 from the front, the others from rank 0), loads, runs
// steps in the order sent, answers, ends. Whatever goes wrong on any rank reaches the front as one
// error.
#pragma once

#include <filesystem>
#include <string>

#include "comm/communicator.h"

namespace dure {

// Returns the process's exit status. `front` is the socket that rank 0 connects to, `keeper` the
// name of this host's keeper of weights, empty where there is none.
int run_rank(World& world, const std::filesystem::path& front, const std::string& keeper);

}  // namespace dure
