// dure-rank: one worker process of a group. Started through mpirun by `dure`, never by hand.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/rank_guard.h"
#include "engine/rank_loop.h"
#include "keeper/keeper.h"
#include "kernels/machine_limits.h"

namespace {

// For `dure bench-local`, which has no kernels of its own: what `threads` threads of this machine
// can do.
int print_limits(int threads, std::string_view compute, std::string_view codes) {
  const auto backend = dure::make_cpu_backend(threads);
  const dure::MachineLimits limits = dure::measure_machine_limits(
      *backend, compute == "fp32" ? dure::Compute::fp32 : dure::Compute::bf16,
      dure::find_code_format(codes).value_or(dure::CodeFormat::none));
  std::printf("%.6e %.6e\n", limits.operations_per_s, limits.bytes_per_s);
  return 0;
}

// Holds the weights of this host's ranks while they are dead.
int keep(const char* name, dure::LogFormat log) {
  try {
    return dure::run_keeper(name, log);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}

}  // namespace

int main(int argc, char** argv) {
  dure::die_with_parent();
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 5 && std::string_view(argv[1]) == "--limits") {
    return print_limits(std::atoi(argv[2]), argv[3], argv[4]);
  }
  if ((argc == 3 || argc == 4) && std::string_view(argv[1]) == "--keep") {
    const bool json = argc == 4 && std::string_view(argv[3]) == "--log-json";
    return keep(argv[2], json ? dure::LogFormat::json : dure::LogFormat::text);
  }
  const bool has_keeper = argc == 5 && std::string_view(argv[3]) == "--keeper";
  if ((argc != 3 && !has_keeper) || std::string_view(argv[1]) != "--front") {
    std::fprintf(stderr, "error: dure-rank is started by dure\nhint: run `dure serve --help`\n");
    return 2;
  }
  try {
    const std::unique_ptr<dure::World> world = dure::World::start();
    return dure::run_rank(*world, argv[2], has_keeper ? argv[4] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}
