// What this machine calls itself, to tell ranks of several machines apart.
#pragma once

#include <string>

namespace dure {

// Of this machine, as gethostname(2) gives it.
std::string host_name();

}  // namespace dure
