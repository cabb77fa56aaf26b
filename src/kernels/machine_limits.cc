// See machine_limits.h.
#include "kernels/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/thread_pool.h"
#include "kernels/cpu/vector/peak.h"
#include "kernels/packed_matrix.h"

namespace dure {
namespace {

template <class Function>
double best_rate(double work, const Function& run) {
  using Clock = std::chrono::steady_clock;
  double best = 0.0;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    run();
    best = std::max(best, work / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

MachineLimits measure_machine_limits(const Backend& backend, Compute compute, CodeFormat codes) {
  ThreadPool pool(backend.threads());
  std::atomic<uint64_t> sink{0};  // keeps the loops from being optimised away
  MachineLimits limits;

  const PeakLoop loop = peak_loop(backend.isa(), compute == Compute::fp32    ? Products::fp32
                                                 : codes != CodeFormat::none ? Products::int8
                                                                             : Products::bf16);
  constexpr int64_t rounds = 1 << 18;
  const int64_t operations = loop.operations_per_round * rounds * pool.threads();
  limits.operations_per_s = best_rate(static_cast<double>(operations), [&] {
    pool.run(pool.threads(), [&](int64_t, int) { sink += loop.run(rounds) > 0.0f ? 1 : 0; });
  });

  const AlignedBuffer stream(int64_t{256} << 20);
  // Untouched pages are one page of zeros, which the caches would hold.
  for (int64_t at = 0; at < stream.size(); at += 4096) stream.data()[at] = std::byte{1};
  const int64_t pieces = int64_t{pool.threads()} * 4;
  const int64_t piece = stream.size() / pieces / 4096 * 4096;
  limits.bytes_per_s = best_rate(static_cast<double>(piece * pieces), [&] {
    pool.run(pieces, [&](int64_t i, int) {
      sink += read_stream(backend.isa(), stream.data() + i * piece, piece);
    });
  });
  return limits;
}

}  // namespace dure
