// Starting and ending other programs from a process with many threads. A program started here is
// the leader of its own session: signals to our terminal's group (Ctrl-C) do not reach it, and
// everything it starts in turn can be found and ended by the session's number.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace dure {

struct SpawnOptions {
  std::vector<std::string> command;      // command[0] is the program's path
  std::vector<std::string> environment;  // "NAME=value", in place of what this process has
  int input = -1;                        // the program's stdin; -1: /dev/null
  int output = -1;                       // its stdout and stderr; -1: /dev/null
  bool dies_with_caller = false;  // SIGKILL for it when the calling thread, or this process, ends
};

// Starts it with all signals at their defaults and no other descriptor open. Throws failed naming
// the program and the reason when it cannot be started.
pid_t spawn(const SpawnOptions& options);

// Readable once the child has ended; a child that was not waited for keeps its number.
Descriptor watch_child(pid_t child);

// Processes of the session of `leader` that still run, zombies not counted. `leader` must be a
// child not yet waited for, so that the number is no one else's.
std::vector<pid_t> living_in_session(pid_t leader);

struct ChildState {
  pid_t pid = -1;
  bool ended = false;  // and not yet waited for
  int status = 0;      // wait status, once ended
};

// The children of a process in the order they were started, as far as the kernel tells; those that
// it has waited for are not among them.
std::vector<ChildState> children_of(pid_t parent);

// Whether it was stopped by a signal, and not continued since. (Under a debugger it is not.)
bool is_stopped(pid_t pid);

// Kills all of a session and returns when none is left, or false after five seconds (a process can
// hang in the kernel).
bool kill_session(pid_t leader);

// Waits until the child has ended, so long at most, and leaves it to be waited for; whether it has.
bool end_within(pid_t child, std::chrono::milliseconds limit);

// Waits for the ended child; its wait status.
int reap(pid_t child);

}  // namespace dure
