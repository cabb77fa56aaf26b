// Faults between ranks, one per run under mpirun with three ranks: what a rank then says goes to
// stderr, and the run is judged by it (CMakeLists.txt).
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/communicator.h"

namespace dure {
namespace {

// Rank 2 never comes to the third operation of step 7; it sleeps until it is ended.
void late(World& world, size_t numbers) {
  std::vector<float> data(numbers, 1.0f);
  world.tp().all_reduce_tree(data, "early sum");
  world.tp().all_reduce_tree(data, "early sum");
  if (world.rank() == 2) {
    for (;;) pause();
  }
  world.tp().all_reduce_tree(data, "late sum");
}

// Rank 1 leaves one operation out, then ranks 0 and 2 find it elsewhere.
void elsewhere(World& world, size_t numbers) {
  std::vector<float> data(numbers, 1.0f);
  if (world.rank() != 1) world.tp().all_reduce_tree(data, "attention output");
  std::vector<int64_t> sizes(3, 0);
  world.tp().all_to_all({}, sizes, {}, sizes, "expert dispatch");
}

void other_size(World& world) {
  std::vector<std::byte> data(world.rank() == 0 ? 5000 : 4000);
  if (world.rank() == 0) world.send(1, data, "hidden state");
  if (world.rank() == 1) world.receive(0, data, "hidden state");
}

void run(World& world, const std::string& fault) {
  world.begin_step(7);
  if (fault == "late") late(world, 100);
  if (fault == "late-long") late(world, 1'000'000);
  if (fault == "elsewhere") elsewhere(world, 100);
  if (fault == "elsewhere-long") elsewhere(world, 1'000'000);
  if (fault == "other-size") other_size(world);
  if (fault == "abort" && world.rank() == 1) world.abort(3);
}

// Rank 0 hears what the others have to say; they wait to be ended with it.
void report(World& world, const std::string& error) {
  if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
  if (world.rank() != 0) {
    if (!error.empty()) world.post(0, error);
    for (;;) (void)world.wait_mail(-1, std::chrono::seconds(1));
  }
  const auto mail = world.wait_mail(-1, std::chrono::seconds(20));
  if (mail) std::fprintf(stderr, "rank 0 has mail: %s\n", mail->message.c_str());
  world.abort(3);
}

}  // namespace
}  // namespace dure

int main(int argc, char** argv) {
  const auto world = dure::World::start();
  world->set_layout({3, 1, 1, 1}, std::chrono::milliseconds(700));
  std::string error;
  try {
    dure::run(*world, argc > 1 ? argv[1] : "");
  } catch (const dure::Error& failure) {
    error = failure.message();
  }
  dure::report(*world, error);
}
