// dure-rank: one worker process of a group. Started through mpirun by `dure`, never by hand.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/rank_guard.h"
#include "engine/rank_loop.h"

int main(int argc, char** argv) {
  dure::die_with_parent();
  std::signal(SIGPIPE, SIG_IGN);
  if (argc != 3 || std::string_view(argv[1]) != "--front") {
    std::fprintf(stderr, "error: dure-rank is started by dure\nhint: run `dure serve --help`\n");
    return 2;
  }
  try {
    const std::unique_ptr<dure::World> world = dure::World::start();
    return dure::run_rank(*world, argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}
