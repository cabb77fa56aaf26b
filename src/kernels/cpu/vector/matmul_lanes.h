// fp32 products and epilogues over Lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"
#include "kernels/cpu/vector/tree_lanes.h"

namespace dure {
namespace {

// How one step of the packed layout is added to acc[R * C]: C Lanes of outputs from lane group
// `half` on, R rows of x.
template <class Type>
struct Step {  // one input
  static constexpr int64_t bytes = 32 * sizeof(typename Type::Stored);
  static constexpr int inputs = 1;
  template <int R, int C>
  static void add(Lanes (&acc)[R * C], const char* weights, const float* x, int half) {
    const auto* w = reinterpret_cast<const typename Type::Stored*>(weights) + half * 16;
    Lanes column[C];
    for (int c = 0; c < C; ++c) column[c] = Type::load(w + c * 16);
    for (int r = 0; r < R; ++r) {
      const Lanes input = all(x[r]);
      for (int c = 0; c < C; ++c) acc[r * C + c] = fma(input, column[c], acc[r * C + c]);
    }
  }
};
template <>
struct Step<Bf16> {  // a pair of inputs, the first one first
  static constexpr int64_t bytes = 128;
  static constexpr int inputs = 2;
  template <int R, int C>
  static void add(Lanes (&acc)[R * C], const char* weights, const float* x, int half) {
    Pairs pairs[C];
    for (int c = 0; c < C; ++c) pairs[c] = load_pairs(weights + (half + c) * 64);
    for (int r = 0; r < R; ++r) {
      const Lanes input = all(x[r]);
      for (int c = 0; c < C; ++c) acc[r * C + c] = fma(input, pair_first(pairs[c]), acc[r * C + c]);
    }
    for (int r = 0; r < R; ++r) {
      const Lanes input = all(x[R + r]);
      for (int c = 0; c < C; ++c)
        acc[r * C + c] = fma(input, pair_second(pairs[c]), acc[r * C + c]);
    }
  }
};

template <class Type, int R>
void multiply_tile(const MatmulTile& tile) {
  constexpr int C = lanes_at_once;
  using TypeStep = Step<Type>;
  for (int half = 0; half < 2; half += C) {
    const char* weights = static_cast<const char*>(tile.weights);
    const float* x = static_cast<const float*>(tile.x);
    const char* prefetch = tile.prefetch;
    Lanes acc[R * C];
    for (int i = 0; i < R * C; ++i) acc[i] = zero();
    for (int32_t s = 0; s < tile.segment_count; ++s) {
      for (int i = 0; i < R * C; ++i) acc[i] = zero();
      for (int64_t step = 0; step < tile.segments[s]; ++step) {
        __builtin_prefetch(prefetch);
        __builtin_prefetch(prefetch + 64);
        TypeStep::template add<R, C>(acc, weights, x, half);
        weights += TypeStep::bytes;
        x += TypeStep::inputs * R;
        prefetch += tile.prefetch_step;
      }
      add_segment(acc, tile.tree, s, tile.segment_count);
    }
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) store(tile.out + r * 32 + (half + c) * 16, acc[r * C + c]);
  }
}

// Picks the instance for tile.rows, from R downwards.
template <class Type, int R = register_rows>
void multiply(const MatmulTile& tile) {
  if (tile.rows == R) return multiply_tile<Type, R>(tile);
  if constexpr (R > 1) multiply<Type, R - 1>(tile);
}

inline void finish_plain(const float* tile, int32_t rows, int32_t columns, const float* bias,
                         float* out, int64_t stride) {
  for (int32_t from = 0; from < columns; from += 16) {
    const int64_t n = columns - from < 16 ? columns - from : 16;
    const Lanes add = bias != nullptr ? load_first(bias + from, n) : zero();
    for (int32_t r = 0; r < rows; ++r)
      store_first(out + r * stride + from, n, load(tile + r * 32 + from) + add);
  }
}

// Rows of x to [input][row], segments padded with zeros to whole steps. Rounded: to bf16.
template <bool Rounded>
void pack_rows_fp32(const PackTile& pack) {
  for (int32_t r = 0; r < pack.rows; ++r) {
    const float* x = pack.x[r];
    float* out = static_cast<float*>(pack.out) + r;
    for (int32_t s = 0; s < pack.segment_count; ++s) {
      const int64_t inputs = pack.inputs[s];
      for (int64_t i = 0; i < inputs; i += 16) {
        const int64_t n = inputs - i < 16 ? inputs - i : 16;
        Lanes part = load_first(x + i, n);
        if constexpr (Rounded) part = round_to_bf16(part);
        alignas(64) float value[16];
        store(value, part);
        for (int64_t j = 0; j < n; ++j) out[j * pack.rows] = value[j];
        out += n * pack.rows;
      }
      x += inputs;
      for (int64_t i = inputs; i % pack.unit != 0; ++i, out += pack.rows) *out = 0.0f;
    }
  }
}

// Rows of x to [pair][row], pairs of bf16.
inline void pack_rows_bf16(const PackTile& pack) {
  for (int32_t r = 0; r < pack.rows; ++r) {
    const float* x = pack.x[r];
    uint32_t* out = static_cast<uint32_t*>(pack.out) + r;
    for (int32_t s = 0; s < pack.segment_count; ++s) {
      const int64_t inputs = pack.inputs[s];
      for (int64_t i = 0; i < inputs; i += 16) {
        const int64_t n = inputs - i < 16 ? inputs - i : 16;
        alignas(64) uint16_t value[16];
        store_bf16(value, load_first(x + i, n));
        const int64_t pairs = (n + 1) / 2;
        for (int64_t j = 0; j < pairs; ++j)
          out[j * pack.rows] = static_cast<uint32_t>(value[j * 2 + 1]) << 16 | value[j * 2];
        out += pairs * pack.rows;
      }
      x += inputs;
    }
  }
}

}  // namespace
}  // namespace dure
