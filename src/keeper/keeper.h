// The keeper: a process on each host of a group that holds the memory of its ranks' weights while
// they are dead. It maps none of it, so that it is small and the last that the kernel ends where
// memory runs out. It ends with its parent, the front or mpirun's daemon, however that ends.
#pragma once

#include <string>

namespace dure {

// Returns the exit status, when the parent is gone. The caller has made the kernel end this process
// with its parent (die_with_parent); this looks as well.
int run_keeper(const std::string& name);

}  // namespace dure
