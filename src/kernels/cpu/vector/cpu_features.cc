// See cpu_features.h.
#include "kernels/cpu/vector/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dure {

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  // __builtin_cpu_supports also asks whether the operating system saves the registers.
  features.avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  constexpr unsigned avx512_bf16 = 1u << 5;  // leaf 7, subleaf 1, eax
  features.avx512_bf16 = features.avx512_vnni && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
                         (a & avx512_bf16) != 0;
#endif
  return features;
}

}  // namespace dure
