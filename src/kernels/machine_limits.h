// What this machine can do at most, measured now by as many threads as a backend has: the yardstick
// of every benchmark.
#pragma once

#include "kernels/backend.h"
#include "tensor/code_format.h"
#include "tensor/dtype.h"

namespace dure {

struct MachineLimits {
  double operations_per_s = 0.0;  // multiply-adds counted twice
  double bytes_per_s = 0.0;       // read from memory
};

// Of products of the kind that matrices in `compute` use, or those of integer codes (bf16 compute
// alone makes them). Takes a fraction of a second and 256 MiB. The best of a few runs: a limit, not
// an average.
MachineLimits measure_machine_limits(const Backend& backend, Compute compute, CodeFormat codes);

}  // namespace dure
