// Recurrences over Lanes: tokens walked one after another through panels of a head's state
// (state_panel.h), and the gate of their outputs. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/state_panel.h"
#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"
#include "kernels/cpu/vector/rows_lanes.h"

namespace dure {
namespace {

constexpr int panel_lanes = state_columns / 16;

// out = x * gate(z)
template <bool sigmoid_gate>
void gate_row(const float* x, const float* z, int64_t width, float* out) {
  each_lanes(width, [&](int64_t i, int64_t n) {
    const Lanes gate = load_first(z + i, n);
    store_first(out + i, n, load_first(x + i, n) * (sigmoid_gate ? sigmoid(gate) : silu(gate)));
  });
}

// One panel's columns of a row of values, of which the first `columns` exist.
struct Columns {
  Lanes lanes[panel_lanes];
};
inline Columns load_columns(const float* p, int64_t columns) {
  Columns x;
  for (int j = 0; j < panel_lanes; ++j) {
    const int64_t n = columns - j * 16;
    x.lanes[j] = n >= 16 ? load(p + j * 16) : n > 0 ? load_first(p + j * 16, n) : zero();
  }
  return x;
}
inline void store_columns(float* p, int64_t columns, const Columns& x) {
  for (int j = 0; j < panel_lanes && j * 16 < columns; ++j)
    store_first(p + j * 16, columns - j * 16 < 16 ? columns - j * 16 : 16, x.lanes[j]);
}
inline Columns no_columns() {
  Columns x;
  for (Lanes& lanes : x.lanes) lanes = zero();
  return x;
}

// panel · keys
inline Columns held_for(const float* panel, int64_t keys, const float* k) {
  Columns sum = no_columns();
  for (int64_t i = 0; i < keys; ++i, panel += state_columns)
    for (int j = 0; j < panel_lanes; ++j)
      sum.lanes[j] = fma(all(k[i]), load(panel + j * 16), sum.lanes[j]);
  return sum;
}

// One token through a panel: S = decay * S + k addᵀ and out = S · q; with `more` also what the next
// token finds, S · next, while the rows are in registers. decay: one for each key, or with
// decay_step 0 one for all.
struct Token {
  const float* decay = nullptr;
  int64_t decay_step = 0;
  const float* k = nullptr;
  const float* q = nullptr;
  const float* next = nullptr;
};
// Not inlined: the loop needs the registers that exp's constants would take.
template <bool more>
[[gnu::noinline]] void pass(float* panel, int64_t keys, const Token& at, const Columns& add,
                            Columns& out, Columns& found) {
  const float* decay = at.decay;
  Columns sum = no_columns();
  Columns next = no_columns();
  for (int64_t i = 0; i < keys; ++i, panel += state_columns, decay += at.decay_step) {
    // Broadcast before the stores, which might be to the same memory for all the compiler knows.
    const Lanes k = all(at.k[i]);
    const Lanes q = all(at.q[i]);
    const Lanes d = all(*decay);
    const Lanes n = more ? all(at.next[i]) : zero();
    for (int j = 0; j < panel_lanes; ++j) {
      const Lanes s = fma(k, add.lanes[j], d * load(panel + j * 16));
      store(panel + j * 16, s);
      sum.lanes[j] = fma(q, s, sum.lanes[j]);
      if constexpr (more) next.lanes[j] = fma(n, s, next.lanes[j]);
    }
  }
  out = sum;
  found = next;
}

// Rows of one head lie pages apart, where the processor fetches nothing ahead by itself.
template <int for_write = 0>
inline void prefetch_row(const float* p, int64_t count) {
  const char* const bytes = reinterpret_cast<const char*>(p);
  for (int64_t i = 0; i < count * 4; i += 64) __builtin_prefetch(bytes + i, for_write);
}

inline void clear(float* state, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) store(state + i, zero());
}

// The first `count` of 16 numbers that lie `stride` apart; the others read as zeros.
inline Lanes gather(const float* p, int64_t stride, int64_t count) {
  alignas(64) float x[16] = {};
  for (int64_t i = 0; i < count; ++i) x[i] = p[i * stride];
  return load(x);
}

inline Lanes delta_decay(const DeltaTile& tile, Lanes rate, Lanes a) {
  if (tile.lower_bound < 0.0f) return exp(all(tile.lower_bound) * sigmoid(rate * a));
  return exp((zero() - rate) * softplus(a));
}

// x / sqrt(sum x² + eps) * scale
inline void normalise(const float* x, int64_t width, float eps, float scale, float* out) {
  const __m128 root = _mm_sqrt_ss(_mm_set_ss(sum_squares(x, width) + eps));
  const Lanes factor = all(1.0f / _mm_cvtss_f32(root) * scale);
  each_lanes(width,
             [&](int64_t i, int64_t n) { store_first(out + i, n, load_first(x + i, n) * factor); });
}

// What the tokens of one block bring, the same for all columns: rows of [key_stride] each.
struct DeltaBlock {
  int64_t key_stride = 0;
  float* q = nullptr;
  float* k = nullptr;
  float* held = nullptr;   // decay * k
  float* decay = nullptr;  // one for each key, or [tokens] of the whole head
  float* beta = nullptr;   // [tokens]
};

inline DeltaBlock delta_block(const DeltaTile& tile) {
  DeltaBlock block;
  block.key_stride = round_up_lanes(tile.key_dim);
  const int64_t floats = block.key_stride * state_block_tokens;
  block.q = tile.scratch;
  block.k = block.q + floats;
  block.held = block.k + floats;
  block.decay = block.held + floats;
  block.beta = block.decay + floats;
  return block;
}

inline void prepare(const DeltaTile& tile, const DeltaBlock& block, int64_t first, int64_t tokens) {
  const Lanes rate = exp(all(tile.a_log));
  store(block.beta, sigmoid(gather(tile.b + first * tile.b_stride, tile.b_stride, tokens)));
  if (tile.decays == 1) {
    const Lanes a = gather(tile.a + first * tile.a_stride, tile.a_stride, tokens);
    store(block.decay, delta_decay(tile, rate, a + all(tile.dt_bias[0])));
  }
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t row = first + t;
    if (row + state_block_tokens < tile.tokens) {
      const int64_t later = (row + state_block_tokens) * tile.stride;
      prefetch_row(tile.q + later, tile.key_dim);
      prefetch_row(tile.k + later, tile.key_dim);
    }
    float* const k = block.k + t * block.key_stride;
    normalise(tile.q + row * tile.stride, tile.key_dim, tile.eps, tile.q_scale,
              block.q + t * block.key_stride);
    normalise(tile.k + row * tile.stride, tile.key_dim, tile.eps, 1.0f, k);
    each_lanes(tile.key_dim, [&](int64_t i, int64_t n) {
      Lanes decay = all(block.decay[t]);
      if (tile.decays != 1) {
        const Lanes a = load_first(tile.a + row * tile.a_stride + i, n);
        decay = delta_decay(tile, rate, a + load_first(tile.dt_bias + i, n));
        store(block.decay + t * block.key_stride + i, decay);
      }
      store(block.held + t * block.key_stride + i, decay * load_first(k + i, n));
    });
  }
}

inline void walk_panel(const DeltaTile& tile, const DeltaBlock& block, int64_t first,
                       int64_t tokens, int64_t panel) {
  float* const state = tile.state + panel * tile.key_dim * state_columns;
  const int64_t column = panel * state_columns;
  const int64_t columns = tile.value_dim - column;
  Columns found = held_for(state, tile.key_dim, block.held);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* const v = tile.v + (first + t) * tile.stride + column;
    float* const out_row = tile.out + (first + t) * tile.out_stride + column;
    if (first + t + 1 < tile.tokens) {
      prefetch_row(v + tile.stride, state_columns);
      prefetch_row<1>(out_row + tile.out_stride, state_columns);
    }
    Columns add = load_columns(v, columns);
    for (int j = 0; j < panel_lanes; ++j)
      add.lanes[j] = (add.lanes[j] - found.lanes[j]) * all(block.beta[t]);
    const int64_t keys = t * block.key_stride;
    Token at;
    at.decay_step = tile.decays == 1 ? 0 : 1;
    at.decay = block.decay + (tile.decays == 1 ? t : keys);
    at.k = block.k + keys;
    at.q = block.q + keys;
    at.next = block.held + keys + block.key_stride;
    Columns out;
    if (t + 1 < tokens) {
      pass<true>(state, tile.key_dim, at, add, out, found);
    } else {
      pass<false>(state, tile.key_dim, at, add, out, found);
    }
    store_columns(out_row, columns, out);
  }
}

inline void delta_rule(const DeltaTile& tile) {
  const DeltaBlock block = delta_block(tile);
  const int64_t panel_floats = tile.key_dim * state_columns;
  if (tile.fresh)
    clear(tile.state + tile.panel * panel_floats, (tile.panel_end - tile.panel) * panel_floats);
  for (int64_t first = 0; first < tile.tokens; first += state_block_tokens) {
    const int64_t left = tile.tokens - first;
    const int64_t tokens = left < state_block_tokens ? left : state_block_tokens;
    prepare(tile, block, first, tokens);
    for (int64_t panel = tile.panel; panel < tile.panel_end; ++panel)
      walk_panel(tile, block, first, tokens, panel);
  }
}

// dt and decay: [tokens] of the block that starts at `first`.
inline void walk_panel(const SsmTile& tile, const float* dt, const float* decay, int64_t first,
                       int64_t tokens, int64_t panel) {
  float* const state = tile.state + panel * tile.state_dim * state_columns;
  const int64_t column = panel * state_columns;
  const int64_t columns = tile.head_dim - column;
  for (int64_t t = 0; t < tokens; ++t) {
    const float* const x_row = tile.x + (first + t) * tile.stride + column;
    const float* const b_row = tile.b + (first + t) * tile.stride;
    const float* const c_row = tile.c + (first + t) * tile.stride;
    float* const out_row = tile.out + (first + t) * tile.out_stride + column;
    if (first + t + 1 < tile.tokens) {
      prefetch_row(x_row + tile.stride, state_columns);
      prefetch_row(b_row + tile.stride, tile.state_dim);
      prefetch_row(c_row + tile.stride, tile.state_dim);
      prefetch_row<1>(out_row + tile.out_stride, state_columns);
    }
    const Columns x = load_columns(x_row, columns);
    Columns add = x;
    for (Lanes& lanes : add.lanes) lanes = lanes * all(dt[t]);
    Token at;
    at.decay = decay + t;
    at.k = b_row;
    at.q = c_row;
    Columns out, none;
    pass<false>(state, tile.state_dim, at, add, out, none);
    for (int j = 0; j < panel_lanes; ++j) out.lanes[j] = fma(all(tile.d), x.lanes[j], out.lanes[j]);
    store_columns(out_row, columns, out);
  }
}

inline void ssm_scan(const SsmTile& tile) {
  const int64_t panel_floats = tile.state_dim * state_columns;
  if (tile.fresh)
    clear(tile.state + tile.panel * panel_floats, (tile.panel_end - tile.panel) * panel_floats);
  const Lanes rate = exp(all(tile.a_log));
  for (int64_t first = 0; first < tile.tokens; first += state_block_tokens) {
    const int64_t left = tile.tokens - first;
    const int64_t tokens = left < state_block_tokens ? left : state_block_tokens;
    alignas(64) float dt[state_block_tokens];
    alignas(64) float decay[state_block_tokens];
    const Lanes raw = gather(tile.dt + first * tile.dt_stride, tile.dt_stride, tokens);
    const Lanes limited =
        min(all(tile.dt_max), max(all(tile.dt_min), softplus(raw + all(tile.dt_bias))));
    store(dt, limited);
    store(decay, exp((zero() - rate) * limited));
    for (int64_t panel = tile.panel; panel < tile.panel_end; ++panel)
      walk_panel(tile, dt, decay, first, tokens, panel);
  }
}

inline void softplus_row(const float* x, int64_t count, float* out) {
  each_lanes(count, [&](int64_t i, int64_t n) {
    store_first(out + i, n, softplus(load_first(x + i, n)));
  });
}

}  // namespace
}  // namespace dure
