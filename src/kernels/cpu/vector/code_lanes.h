// Products with integer codes (tensor/code_format.h) over Lanes and Ints; their order of sums is
// that of kernels/quantize_inputs.h. A further format is a struct like Q8: what its steps take in
// memory, and how they become unsigned bytes. Include after one lanes_*.h and its code_ints_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/tree_lanes.h"

namespace dure {
namespace {

constexpr int64_t scale_bytes = 64;  // of a group: 32 of fp16

// Codes of four inputs of outputs 0 .. 15 (half 0) or 16 .. 31 of a panel.
struct Q8 {
  static constexpr int64_t step_bytes = 128;
  static constexpr int32_t zero = 128;
  static Ints codes(const char* step, int half) { return load_bytes(step + half * 64); }
};
struct Q4 {
  static constexpr int64_t step_bytes = 64;
  static constexpr int32_t zero = 8;
  static Ints codes(const char* step, int half) {
    const Ints both = load_bytes(step);
    return half == 0 ? low_halves(both) : high_halves(both);
  }
};

// Scales of 16 outputs, after the `steps` steps of a group.
template <class Format>
inline Lanes scales_of(const char* group, int64_t steps, int half) {
  return load_f16(reinterpret_cast<const uint16_t*>(group + steps * Format::step_bytes) +
                  half * 16);
}

// Calls fn with the constants 0 .. N - 1. Where arrays shall live in registers their indices must
// be constants from the start; the compiler unrolls loops of so many steps too late.
template <int I>
struct Constant {
  static constexpr int value = I;
};
template <int N, class Function>
__attribute__((always_inline)) inline void each(const Function& fn) {
  if constexpr (N > 0) {
    each<N - 1>(fn);
    fn(Constant<N - 1>());
  }
}

// x: for each group [steps][rows] of four int8, [rows] scales, [rows] first values of the integer
// sums. Registers hold both the integer sums of a group and the sums over groups.
template <class Dot, class Format, int R>
void multiply_codes(const MatmulTile& tile) {
  constexpr int C = lanes_at_once;
  for (int half = 0; half < 2; half += C) {
    const char* weights = static_cast<const char*>(tile.weights);
    const char* prefetch = tile.prefetch;
    const int32_t* x = static_cast<const int32_t*>(tile.x);
    const int32_t* group = tile.group_steps;
    Lanes acc[R * C];
    each<R * C>([&](auto i) { acc[i.value] = zero(); });
    for (int32_t s = 0; s < tile.segment_count; ++s) {
      each<R * C>([&](auto i) { acc[i.value] = zero(); });
      for (int32_t g = 0; g < tile.segments[s]; ++g) {
        const int64_t steps = *group++;
        const int32_t* const first = x + (steps + 1) * R;
        Ints sum[R * C];
        each<R * C>([&](auto i) { sum[i.value] = all_ints(first[i.value / C]); });
        const char* step = weights;
        for (int64_t n = 0; n < steps; ++n) {
          __builtin_prefetch(prefetch);
          if (Format::step_bytes > 64) __builtin_prefetch(prefetch + 64);
          typename Dot::Codes codes[C];
          each<C>(
              [&](auto c) { codes[c.value] = Dot::prepare(Format::codes(step, half + c.value)); });
          each<R * C>([&](auto i) { Dot::add(sum[i.value], codes[i.value % C], x[i.value / C]); });
          step += Format::step_bytes;
          x += R;
          prefetch += tile.prefetch_step;
        }
        __builtin_prefetch(prefetch);
        prefetch += tile.prefetch_scales;
        Lanes scale[C];
        each<C>(
            [&](auto c) { scale[c.value] = scales_of<Format>(weights, steps, half + c.value); });
        const float* const x_scale = reinterpret_cast<const float*>(x);
        each<R * C>([&](auto i) {
          const Lanes factor = scale[i.value % C] * all(x_scale[i.value / C]);
          acc[i.value] = fma(to_floats(sum[i.value]), factor, acc[i.value]);
        });
        x += 2 * R;
        weights = step + scale_bytes;
      }
      add_segment(acc, tile.tree, s, tile.segment_count);
    }
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) store(tile.out + r * 32 + (half + c) * 16, acc[r * C + c]);
  }
}

// Products in fp32 with the numbers that the codes mean; x: [inputs, each group padded][rows].
template <class Format, int J, int R>
inline void add_input(Lanes (&acc)[R * lanes_at_once], const Ints (&codes)[lanes_at_once],
                      const Lanes (&scale)[lanes_at_once], const float* x) {
  constexpr int C = lanes_at_once;
  Lanes column[C];
  for (int c = 0; c < C; ++c)
    column[c] = (to_floats(byte_of<J>(codes[c])) - all(Format::zero)) * scale[c];
  for (int r = 0; r < R; ++r) {
    const Lanes input = all(x[J * R + r]);
    for (int c = 0; c < C; ++c) acc[r * C + c] = fma(input, column[c], acc[r * C + c]);
  }
}

template <class Format, int R>
void multiply_codes_fp32(const MatmulTile& tile) {
  constexpr int C = lanes_at_once;
  for (int half = 0; half < 2; half += C) {
    const char* weights = static_cast<const char*>(tile.weights);
    const float* x = static_cast<const float*>(tile.x);
    const int32_t* group = tile.group_steps;
    Lanes acc[R * C];
    for (int i = 0; i < R * C; ++i) acc[i] = zero();
    for (int32_t s = 0; s < tile.segment_count; ++s) {
      for (int i = 0; i < R * C; ++i) acc[i] = zero();
      for (int32_t g = 0; g < tile.segments[s]; ++g) {
        const int64_t steps = *group++;
        Lanes scale[C];
        for (int c = 0; c < C; ++c) scale[c] = scales_of<Format>(weights, steps, half + c);
        for (int64_t i = 0; i < steps; ++i) {
          Ints codes[C];
          for (int c = 0; c < C; ++c) codes[c] = Format::codes(weights, half + c);
          add_input<Format, 0, R>(acc, codes, scale, x);
          add_input<Format, 1, R>(acc, codes, scale, x);
          add_input<Format, 2, R>(acc, codes, scale, x);
          add_input<Format, 3, R>(acc, codes, scale, x);
          weights += Format::step_bytes;
          x += 4 * R;
        }
        weights += scale_bytes;
      }
      add_segment(acc, tile.tree, s, tile.segment_count);
    }
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) store(tile.out + r * 32 + (half + c) * 16, acc[r * C + c]);
  }
}

// Pick the instance for tile.rows, from R downwards.
template <class Dot, class Format, int R = code_rows>
void multiply_coded(const MatmulTile& tile) {
  if (tile.rows == R) return multiply_codes<Dot, Format, R>(tile);
  if constexpr (R > 1) multiply_coded<Dot, Format, R - 1>(tile);
}
template <class Format, int R = register_rows>
void multiply_coded_fp32(const MatmulTile& tile) {
  if (tile.rows == R) return multiply_codes_fp32<Format, R>(tile);
  if constexpr (R > 1) multiply_coded_fp32<Format, R - 1>(tile);
}

// kernels/quantize_inputs.h of one row.
inline void quantize_row(const QuantizeRow& row) {
  const float* x = row.x;
  int8_t* codes = row.codes;
  for (int32_t g = 0; g < row.groups; ++g) {
    const int64_t inputs = row.inputs[g];
    const int64_t padded = (inputs + 3) / 4 * 4;
    const Lanes left = load_first(x, inputs);
    const Lanes right = inputs > 16 ? load_first(x + 16, inputs - 16) : zero();
    x += inputs;
    const float largest = largest_magnitude(left, right);
    row.scales[g] = 0.0f;
    row.sums[g] = 0;
    Lanes whole[2] = {zero(), zero()};
    if (!(largest < __builtin_inff())) {
      row.scales[g] = __builtin_nanf("");
    } else if (largest >= row.smallest) {
      row.scales[g] = largest / 127.0f;
      const Lanes inverse = all(127.0f / largest);
      whole[0] = round_to_even(left * inverse);
      whole[1] = round_to_even(right * inverse);
      row.sums[g] = sum_of_whole(whole[0], whole[1]);
    }
    // The row's end has room for a whole group.
    store_bytes(codes, whole[0]);
    store_bytes(codes + 16, whole[1]);
    codes += padded;
  }
}

}  // namespace
}  // namespace dure
