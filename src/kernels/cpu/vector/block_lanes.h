// Panels of matrices that are kept in blocks, over Lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"

namespace dure {
namespace {

inline void round_row(const float* x, int64_t count, uint16_t* out) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) store_bf16(out + i, load(x + i));
  if (i == count) return;
  alignas(32) uint16_t rest[16];
  store_bf16(rest, load_first(x + i, count - i));
  for (int64_t j = 0; i + j < count; ++j) out[i + j] = rest[j];
}

// Squares of 16 elements at a time.
inline void turn(const TurnTile& tile) {
  for (int64_t from = 0; from < tile.count; from += 16) {
    for (int half = 0; half < 2; ++half) {
      const uint32_t* rows = tile.rows + half * 16 * tile.stride + from;
      uint32_t* out = tile.out + from * 32 + half * 16;
      if (tile.count - from >= 16) {
        turn_square(rows, tile.stride, out, 32);
        continue;
      }
      for (int64_t i = 0; i < tile.count - from; ++i)
        for (int64_t row = 0; row < 16; ++row) out[i * 32 + row] = rows[row * tile.stride + i];
    }
  }
}

}  // namespace
}  // namespace dure
