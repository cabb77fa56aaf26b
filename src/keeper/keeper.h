// The keeper: a process on each host of a group that holds the memory of its ranks' weights while
// they are dead. It maps none of it, so that it is small and the last that the kernel ends where
// memory runs out. It ends with its parent, the front or mpirun's daemon, however that ends.
//
// It also looks whether a rank of its host was stopped (SIGSTOP), which nobody else can tell from a
// slow one when the front is on another host: it says so on stderr and ends the rank, so that the
// group is started again.
#pragma once

#include <string>

#include "trace/event.h"

namespace dure {

// Looks in a row, a second apart, that find a rank stopped before it is ended. More than a front on
// the same host waits, which can tell more.
inline constexpr int keeper_stop_patience = 7;

// Returns the exit status, when the parent is gone. The caller has made the kernel end this process
// with its parent (die_with_parent); this looks as well.
int run_keeper(const std::string& name, LogFormat log = LogFormat::text);

}  // namespace dure
