// What this machine's processor offers, for defaults that the front chooses before any rank runs.
#pragma once

#include "tensor/dtype.h"

namespace dure {

// bf16 where the CPU multiplies it natively (AVX-512 BF16), else fp32.
Compute default_compute();

// Threads of each of `ranks` ranks sharing this machine's cores; at least 1.
int default_threads(int ranks);

}  // namespace dure
