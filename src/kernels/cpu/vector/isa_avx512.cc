// The kernels for AVX-512 (F, BW, DQ, VL). Compiled with those flags; see kernel_table.h for what
// must not be included here.
#include "kernels/cpu/vector/lanes_avx512.h"
//
#include "kernels/cpu/vector/code_ints_avx512.h"
//
#include "kernels/cpu/vector/table_lanes.h"
//
#include "kernels/cpu/vector/block_tables_avx512.h"

namespace dure {
namespace {

constexpr KernelTable table_of_avx512() {
  KernelTable table = table_of_lanes("avx512");
  fill_table_decoders<OutTable>(table.decode_bf16);
  table.decode_bf16[19] = decode<TableMxfp4, OutTable>;
  return table;
}

}  // namespace

const KernelTable& avx512_kernels() {
  static constexpr KernelTable table = table_of_avx512();
  return table;
}

}  // namespace dure
