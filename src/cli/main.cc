// The `dure` program; see command.h for how subcommands join it.
#include "cli/command.h"

int main(int argc, char** argv) {
  return dure::run_command_line(argc, argv);
}
