// See this_machine.h.
#include "cluster/this_machine.h"

#include <algorithm>
#include <thread>

namespace dure {

Compute default_compute() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return Compute::bf16;
#endif
  return Compute::fp32;
}

int default_threads(int ranks) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / std::max(1, ranks));
}

}  // namespace dure
