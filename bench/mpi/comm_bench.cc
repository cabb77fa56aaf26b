// Microseconds of the collectives between ranks, beside MPI's own in the same run:
//   mpirun --oversubscribe --bind-to none -n 2 build/bin/comm_bench
// Times are of the best of 15 rounds on rank 0, since whatever else runs on the machine only adds;
// the two sides of a ratio alternate.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_of(int repeats, const std::function<void()>& work) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
}

void compare(const char* name, size_t bytes, int rank, const std::function<void()>& ours,
             const std::function<void()>& theirs) {
  const int repeats = bytes <= 65536 ? 100 : bytes <= (1u << 20) ? 10 : 3;
  double us = 1e30;
  double mpi = 1e30;
  for (int round = 0; round < 15; ++round) {
    us = std::min(us, microseconds_of(repeats, ours));
    mpi = std::min(mpi, microseconds_of(repeats, theirs));
  }
  if (rank != 0) return;
  std::printf("%-16s %9zu bytes %10.1f us   MPI %10.1f us   ratio %5.2f\n", name, bytes, us, mpi,
              us / mpi);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const auto world = dure::World::start();
  const int ranks = world->size();
  world->set_layout({ranks, 1, 1, 1}, std::chrono::seconds(60));
  world->begin_step(1);
  const auto n = static_cast<size_t>(ranks);
  if (world->rank() == 0) std::printf("%d ranks\n", ranks);
  for (size_t bytes : {size_t{8} << 10, size_t{64} << 10, size_t{1} << 20, size_t{4} << 20}) {
    std::vector<float> data(bytes / sizeof(float), 0.0f);
    std::vector<float> sum(data.size());
    compare(
        "all_reduce_tree", bytes, world->rank(),
        [&] { world->tp().all_reduce_tree(data, "bench"); },
        [&] {
          MPI_Allreduce(data.data(), sum.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD);
        });
    const size_t piece = bytes / n;
    std::vector<std::byte> out(piece * n);
    std::vector<std::byte> in(piece * n);
    const std::vector<int64_t> sizes(n, static_cast<int64_t>(piece));
    compare(
        "all_to_all", bytes, world->rank(),
        [&] { world->tp().all_to_all(out, sizes, in, sizes, "bench"); },
        [&] {
          MPI_Alltoall(out.data(), static_cast<int>(piece), MPI_BYTE, in.data(),
                       static_cast<int>(piece), MPI_BYTE, MPI_COMM_WORLD);
        });
  }
  world->finish();
}
