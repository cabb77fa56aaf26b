// Which instruction sets this CPU and operating system run.
#pragma once

namespace dure {

struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA, F16C
  bool avx512 = false;       // AVX-512 F, BW, DQ, VL, on top of avx2
  bool avx512_vnni = false;  // on top of avx512
  bool avx512_bf16 = false;  // on top of avx512_vnni
};

CpuFeatures cpu_features();

}  // namespace dure
