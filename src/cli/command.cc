// See command.h: the list of subcommands, and one command line from flags to exit status.
#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <system_error>

#include "base/closest.h"
#include "cli/terminal.h"

namespace dure {
namespace {

// Filled by the registrations that run before main(), never changed after.
std::vector<Command>& registry() {
  static std::vector<Command> commands;
  return commands;
}

[[noreturn]] void throw_unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : registered_commands()) names.push_back(command.name);
  throw_bad_input(fmt::format("there is no subcommand '{}'", name),
                  fmt::format("did you mean `dure {}`? `dure --help` lists all",
                              closest(name, names).value_or("inspect")));
}

// CLI11's errors, in the house's form.
[[noreturn]] void throw_usage(const CLI::App& app, const CLI::ParseError& error, int argc,
                              const char* const* argv) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() && argc > 1 && argv[1][0] != '-') throw_unknown_command(argv[1]);
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string help = chosen.empty()
                               ? std::string("dure --help")
                               : fmt::format("dure {} --help", chosen.front()->get_name());
  throw_bad_input(text, fmt::format("`{}` shows what it takes", help));
}

int parse_and_run(int argc, const char* const* argv) {
  CLI::App app{
      "dure fits, plans, serves and proves language models that are too large for one machine.",
      "dure"};
  app.set_version_flag("--version", "dure " DURE_VERSION);
  app.require_subcommand(1);
  std::map<const CLI::App*, RunCommand> runs;
  for (const Command& command : registered_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs[sub] = command.declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw_usage(app, error, argc, argv);
  }
  return runs.at(app.get_subcommands().front())();
}

// An exception of a library: mostly the system refuses something, such as memory or a thread.
Error out_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {ErrorCode::failed, "no memory left for this process",
            "free memory on this machine, or raise its limit (`ulimit -v`)"};
  }
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) {
    return {ErrorCode::failed, fmt::format("the system refused: {}", error.what()),
            "a limit of this machine may be reached: memory, processes (`ulimit -u`), disk"};
  }
  return {ErrorCode::failed, error.what(), "this is a bug of Dure: please report the command"};
}

std::string error_text(const Error& error, bool colour) {
  std::string hint = error.hint();
  if (hint.empty() && error.code() == ErrorCode::bad_input) {
    hint = "correct the input named above; `dure --help` lists what each command takes";
  }
  const char* plain = colour ? "\033[0m" : "";
  std::string text =
      fmt::format("{}error:{} {}\n", colour ? "\033[1;31m" : "", plain, visible(error.message()));
  if (!hint.empty()) {
    text += fmt::format("{}hint:{} {}\n", colour ? "\033[1;36m" : "", plain, visible(hint));
  }
  return text;
}

}  // namespace

RegisterCommand::RegisterCommand(Command command) {
  registry().push_back(std::move(command));
}

std::vector<Command> registered_commands() {
  std::vector<Command> commands = registry();
  std::sort(commands.begin(), commands.end(),
            [](const Command& a, const Command& b) { return a.name < b.name; });
  return commands;
}

int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::answer_is_no:
      return 1;
    case ErrorCode::bad_input:
      return 2;
    case ErrorCode::unavailable:
    case ErrorCode::overloaded:
    case ErrorCode::failed:
      return 3;
  }
  return 3;
}

void print_error(const Error& error) {
  say(stderr, error_text(error, uses_colour(stderr)));
}

int run_command_line(int argc, const char* const* argv) {
  int status = 0;
  try {
    status = parse_and_run(argc, argv);
  } catch (const Error& error) {
    std::fflush(stdout);
    print_error(error);
    return exit_status_of(error.code());
  } catch (const std::exception& error) {
    std::fflush(stdout);
    print_error(out_of(error));
    return exit_status_of(ErrorCode::failed);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    print_error(Error(ErrorCode::failed, "standard output cannot be written",
                      "the disk may be full, or the reader has gone"));
    return exit_status_of(ErrorCode::failed);
  }
  return status;
}

}  // namespace dure
