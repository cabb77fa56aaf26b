// See launch_command.h.
#include "group/launch_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace dure {
namespace {

std::filesystem::path mpirun_on_path() {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / "mpirun";
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  throw Error(ErrorCode::failed, "mpirun, which starts the ranks, is not on PATH",
              "apt install openmpi-bin");
}

// `program`, or dure-rank beside this executable.
std::filesystem::path found_rank_program(std::filesystem::path program) {
  if (program.empty()) {
    std::error_code ignored;
    program =
        std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("dure-rank");
  }
  if (access(program.c_str(), X_OK) == 0) return program;
  throw Error(
      ErrorCode::failed,
      fmt::format("{}, the program of the ranks, is not there or may not be run", program.string()),
      "dure-rank lies beside dure; build or install both");
}

}  // namespace

std::vector<std::string> launch_command(const GroupOptions& options,
                                        const std::filesystem::path& folder,
                                        const std::filesystem::path& socket,
                                        const std::string& keeper) {
  std::vector<std::string> command = {mpirun_on_path()};
  const auto add = [&](std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
  };
  if (geteuid() == 0) add({"--allow-run-as-root"});
  // The owner chose the number of ranks, and gives them their cores by threads per rank.
  add({"--oversubscribe", "--bind-to", "none", "--tag-output"});
  // Crashes are told by the signal; MPI's own trace of them is for people who debug MPI.
  add({"--mca", "opal_signal", ""});
  // Threads of mpirun that end would take the ranks they started with them (rank_guard.h).
  add({"--mca", "odls_base_num_threads", "0"});
  // When one rank is gone, the others have nothing to tidy up: no second for them after SIGTERM.
  add({"--mca", "odls_base_sigkill_timeout", "0"});
  if (options.hosts_file.empty()) {
    add({"--mca", "btl_vader_backing_directory", folder.string()});
  } else {
    if (access(options.hosts_file.c_str(), R_OK) != 0) {
      throw_bad_input(fmt::format("hosts file {} cannot be read", options.hosts_file),
                      "one host a line, as mpirun --hostfile takes them; this host first");
    }
    add({"--hostfile", options.hosts_file});
  }
  add({"-n", fmt::format("{}", options.start.layout.world())});
  add({found_rank_program(options.rank_program).string(), "--front", socket.string()});
  if (!keeper.empty()) add({"--keeper", keeper});
  return command;
}

std::vector<std::string> keeper_command(const std::filesystem::path& rank_program,
                                        const std::string& hosts_file, const std::string& name,
                                        LogFormat log) {
  std::vector<std::string> command;
  if (!hosts_file.empty()) {
    command = {mpirun_on_path()};
    if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
    command.insert(command.end(), {"-q", "--bind-to", "none", "--mca", "odls_base_num_threads", "0",
                                   "--hostfile", hosts_file, "--npernode", "1"});
  }
  command.insert(command.end(), {found_rank_program(rank_program).string(), "--keep", name});
  if (log == LogFormat::json) command.emplace_back("--log-json");
  return command;
}

}  // namespace dure
