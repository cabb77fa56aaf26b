// What a subcommand is. Each cmd_<name>.cc declares its flags in one function, which returns what
// to run once they are parsed, and registers itself:
//
//   RunCommand declare(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_option("model", options->model, "a Hugging Face folder")->required();
//     return [options] { return run(*options); };
//   }
//   const RegisterCommand registered({"inspect", "what a model is", declare});
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}

namespace dure {

// Returns the exit status: 0 done, 1 the answer is "no". Throws Error for the rest.
using RunCommand = std::function<int()>;

struct Command {
  std::string name;
  std::string summary;  // one line of `dure --help`
  RunCommand (*declare)(CLI::App& app);
};

// Only ever constructed at namespace scope, before main().
struct RegisterCommand {
  explicit RegisterCommand(Command command);
};

std::vector<Command> registered_commands();  // by name

// Parses and runs one command line; prints `error:` and `hint:` lines to stderr. Returns the exit
// status: 2 for bad usage or bad input, 3 for a failure while running.
int run_command_line(int argc, const char* const* argv);

int exit_status_of(ErrorCode code);
void print_error(const Error& error);

}  // namespace dure
