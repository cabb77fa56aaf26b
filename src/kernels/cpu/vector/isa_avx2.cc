// The kernels for AVX2, FMA and F16C. Compiled with those flags; see kernel_table.h for what must
// not be included here.
#include "kernels/cpu/vector/lanes_avx2.h"
//
#include "kernels/cpu/vector/code_ints_avx2.h"
//
#include "kernels/cpu/vector/table_lanes.h"

namespace dure {

const KernelTable& avx2_kernels() {
  static constexpr KernelTable table = table_of_lanes("avx2");
  return table;
}

}  // namespace dure
