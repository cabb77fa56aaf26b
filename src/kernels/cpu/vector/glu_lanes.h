// Gated activations (backend.h, Glu) as epilogues of products, over Lanes. Include after one
// lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"

namespace dure {
namespace {

struct Silu {
  static Lanes of(const GluTile&, Lanes gate, Lanes up) { return silu(gate) * up; }
};

struct GeluTanh {
  static Lanes of(const GluTile&, Lanes gate, Lanes up) {
    // 2 sqrt(2 / pi), and that times 0.044715.
    const Lanes z = gate * fma(gate * gate, all(0.0713548163f), all(1.59576912f));
    return gated(gate, z) * up;
  }
};

struct ClampedSwish {
  static Lanes of(const GluTile& tile, Lanes gate, Lanes up) {
    // NaN passes min and max as their second operand.
    gate = min(all(tile.limit), gate);
    up = min(all(tile.limit), max(all(-tile.limit), up));
    return gated(gate, all(tile.alpha) * gate) * (up + all(1.0f));
  }
};

template <class Kind>
void finish_glu(const GluTile& tile) {
  for (int32_t from = 0; from < tile.columns; from += 16) {
    const int64_t n = tile.columns - from < 16 ? tile.columns - from : 16;
    const auto bias = [&](const float* b) { return b ? load_first(b + from, n) : zero(); };
    const Lanes to_gate = bias(tile.gate_bias);
    const Lanes to_up = bias(tile.up_bias);
    for (int32_t r = 0; r < tile.rows; ++r) {
      const Lanes gate = load(tile.gate + r * 32 + from) + to_gate;
      const Lanes up = load(tile.up + r * 32 + from) + to_up;
      store_first(tile.out + r * tile.stride + from, n, Kind::of(tile, gate, up));
    }
  }
}

}  // namespace
}  // namespace dure
