// Depthwise causal convolutions over Lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"
#include "kernels/cpu/vector/rows_lanes.h"

namespace dure {
namespace {

inline void copy_row(const float* from, int64_t width, float* to) {
  each_lanes(width, [&](int64_t i, int64_t n) { store_first(to + i, n, load_first(from + i, n)); });
}

// taps_known: the number of taps, or 0 for any.
template <int taps_known>
void convolve_taps(const ConvTile& tile) {
  const int64_t taps = taps_known > 0 ? taps_known : tile.taps;
  const int64_t kept = taps - 1;
  // Input `token` of the slice, which may be one of those before it.
  const auto input = [&](int64_t token) {
    return token >= 0 ? tile.x + token * tile.stride : tile.scratch + (token + kept) * tile.width;
  };
  for (int64_t row = 0; row < kept; ++row) {
    float* const past = tile.scratch + row * tile.width;
    if (tile.fresh) {
      for (int64_t i = 0; i < tile.width; ++i) past[i] = 0.0f;
    } else {
      copy_row(tile.state + row * tile.channels, tile.width, past);
    }
  }
  for (int64_t token = 0; token < tile.tokens; ++token) {
    float* const out = tile.out + token * tile.channels;
    each_lanes(tile.width, [&](int64_t i, int64_t n) {
      Lanes sum = zero();
      for (int64_t tap = 0; tap < taps; ++tap) {
        const Lanes x = load_first(input(token - kept + tap) + i, n);
        sum = fma(load_first(tile.w + tap * tile.channels + i, n), x, sum);
      }
      if (tile.bias != nullptr) sum = sum + load_first(tile.bias + i, n);
      store_first(out + i, n, tile.silu ? silu(sum) : sum);
    });
  }
  for (int64_t row = 0; row < kept; ++row)
    copy_row(input(tile.tokens - kept + row), tile.width, tile.state + row * tile.channels);
}

inline void convolve(const ConvTile& tile) {
  if (tile.taps == 4) return convolve_taps<4>(tile);
  convolve_taps<0>(tile);
}

}  // namespace
}  // namespace dure
