// The `dure` program; see command.h for how subcommands join it.
#include <fcntl.h>
#include <unistd.h>

#include "cli/command.h"

namespace {

// A closed stdin, stdout or stderr would become the number of our first socket, and messages would
// go into that. What takes their places fails to be read or written, as closed ones do.
void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  return dure::run_command_line(argc, argv);
}
