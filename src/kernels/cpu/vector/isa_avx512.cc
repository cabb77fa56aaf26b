// The kernels for AVX-512 (F, BW, DQ, VL). Compiled with those flags; see kernel_table.h for what
// must not be included here.
#include "kernels/cpu/vector/lanes_avx512.h"
//
#include "kernels/cpu/vector/code_ints_avx512.h"
//
#include "kernels/cpu/vector/table_lanes.h"

namespace dure {

const KernelTable& avx512_kernels() {
  static constexpr KernelTable table = table_of_lanes("avx512");
  return table;
}

}  // namespace dure
