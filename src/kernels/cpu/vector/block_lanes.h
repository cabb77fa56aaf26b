// Blocks of checkpoints (tensor/block_format.h) over Lanes: the formats that people run, each by
// the operations of its scalar definition, and how rows of numbers become panels. Include after one
// lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "tensor/block_fields.h"

namespace dure {
namespace {

// What decoded numbers become in memory.
struct OutFp32 {
  using Number = float;
  static void put(float* to, Lanes x) { store(to, x); }
};
struct OutBf16 {
  using Number = uint16_t;
  static void put(uint16_t* to, Lanes x) { store_bf16(to, x); }
};

// A format is a struct with the bytes and values of a block and a function that decodes one.
struct BlockQ8_0 {
  static constexpr int64_t bytes = 34, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    Out::put(to, load_i8(block + 2) * scale);
    Out::put(to + 16, load_i8(block + 18) * scale);
  }
};

// Codes of 4 bits, the first 16 in the low halves of 16 bytes; level(code) makes numbers of them.
template <class Out, class Level>
inline void decode_nibbles(const uint8_t* codes, typename Out::Number* to, const Level& level) {
  const Whole both = load_u8(codes);
  Out::put(to, level(to_lanes(both & 15)));
  Out::put(to + 16, level(to_lanes(shift_right(both, 4))));
}

// The same with a fifth bit of code i in bit i of a word.
template <class Out, class Level>
inline void decode_fives(const uint8_t* codes, uint32_t fifths, typename Out::Number* to,
                         const Level& level) {
  const Whole both = load_u8(codes);
  Out::put(to, level(to_lanes(both & 15 | shift_left(bits_of(fifths), 4))));
  Out::put(to + 16, level(to_lanes(shift_right(both, 4) | shift_left(bits_of(fifths >> 16), 4))));
}

// And of codes that choose one of 16 levels.
template <class Out>
inline void decode_levels(const uint8_t* codes, Lanes levels, typename Out::Number* to) {
  const Whole both = load_u8(codes);
  Out::put(to, choose(levels, both & 15));
  Out::put(to + 16, choose(levels, shift_right(both, 4)));
}

struct BlockQ4_0 {
  static constexpr int64_t bytes = 18, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    decode_nibbles<Out>(block + 2, to, [&](Lanes code) { return (code - all(8.0f)) * scale; });
  }
};
struct BlockQ4_1 {
  static constexpr int64_t bytes = 20, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    const Lanes least = all(half_at(block + 2));
    decode_nibbles<Out>(block + 4, to, [&](Lanes code) { return code * scale + least; });
  }
};

inline uint32_t word_at(const uint8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

struct BlockQ5_0 {
  static constexpr int64_t bytes = 22, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    decode_fives<Out>(block + 6, word_at(block + 2), to,
                      [&](Lanes code) { return (code - all(16.0f)) * scale; });
  }
};
struct BlockQ5_1 {
  static constexpr int64_t bytes = 24, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    const Lanes least = all(half_at(block + 2));
    decode_fives<Out>(block + 8, word_at(block + 4), to,
                      [&](Lanes code) { return code * scale + least; });
  }
};

// Steps of eight groups, then what is taken away from each.
inline void load_minima(const uint8_t* block, float* own) {
  uint8_t whole[16];
  scales_and_minima(block + 4, whole);
  const Lanes of_both = keep_between(all(half_at(block)), 0, 8, all(half_at(block + 2)));
  store(own, of_both * to_lanes(load_u8(whole)));
}

struct BlockQ4_K {
  static constexpr int64_t bytes = 144, values = 256;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    alignas(64) float own[16];
    load_minima(block, own);
    for (int group = 0; group < 8; group += 2, to += 64) {
      const uint8_t* codes = block + 16 + group * 16;
      const auto level = [&](Lanes code, int of) {
        return all(own[group + of]) * code - all(own[group + of + 8]);
      };
      for (int i = 0; i < 32; i += 16) {
        const Whole both = load_u8(codes + i);
        Out::put(to + i, level(to_lanes(both & 15), 0));
        Out::put(to + 32 + i, level(to_lanes(shift_right(both, 4)), 1));
      }
    }
  }
};
struct BlockQ5_K {
  static constexpr int64_t bytes = 176, values = 256;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    alignas(64) float own[16];
    load_minima(block, own);
    for (int group = 0; group < 8; ++group, to += 32) {
      const uint8_t* codes = block + 48 + group / 2 * 32;
      const auto level = [&](Lanes code) { return all(own[group]) * code - all(own[group + 8]); };
      for (int i = 0; i < 32; i += 16) {
        const Whole fifth = shift_right(load_u8(block + 16 + i), group) & 1;
        const Whole low = shift_right(load_u8(codes + i), group % 2 * 4) & 15;
        Out::put(to + i, level(to_lanes(low | shift_left(fifth, 4))));
      }
    }
  }
};
struct BlockQ6_K {
  static constexpr int64_t bytes = 210, values = 256;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    alignas(64) float own[16];
    store(own, all(half_at(block + 208)) * load_i8(block + 192));
    for (int value = 0; value < 256; value += 16) {
      const int run = value / 128;
      const int quarter = value / 32 % 4;
      const Whole low = shift_right(load_u8(block + run * 64 + value % 64), quarter / 2 * 4) & 15;
      const Whole high = shift_right(load_u8(block + 128 + run * 32 + value % 32), quarter * 2) & 3;
      const Lanes code = to_lanes(low | shift_left(high, 4)) - all(32.0f);
      Out::put(to + value, all(own[value / 16]) * code);
    }
  }
};

// Code 8 of mxfp4 is -0.
alignas(64) constexpr float mxfp4_values[16] = {0,     1,  2,  3,  4,  6,  8,  12,
                                                -0.0f, -1, -2, -3, -4, -6, -8, -12};
alignas(64) constexpr float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};
// 2^(exponent - 128); 2^-128 and 2^-127 are subnormal.
inline Lanes mxfp4_power(uint32_t exponent) {
  const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23;
  float power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return all(power);
}
struct BlockMxfp4 {
  static constexpr int64_t bytes = 17, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    decode_levels<Out>(block + 1, load(mxfp4_values) * mxfp4_power(block[0]), to);
  }
};
struct BlockIq4Nl {
  static constexpr int64_t bytes = 18, values = 32;
  template <class Out>
  static void decode(const uint8_t* block, typename Out::Number* to) {
    const Lanes scale = all(half_at(block));
    decode_levels<Out>(block + 2, load(iq4_values) * scale, to);
  }
};

template <class Format, class Out>
void decode(const uint8_t* blocks, int64_t count, typename Out::Number* to) {
  for (int64_t i = 0; i < count; ++i)
    Format::template decode<Out>(blocks + i * Format::bytes, to + i * Format::values);
}

template <class Out>
constexpr void fill_decoders(BlockDecoder<typename Out::Number> (&table)[block_kinds]) {
  table[0] = decode<BlockQ4_0, Out>;
  table[1] = decode<BlockQ4_1, Out>;
  table[2] = decode<BlockQ5_0, Out>;
  table[3] = decode<BlockQ5_1, Out>;
  table[4] = decode<BlockQ8_0, Out>;
  table[7] = decode<BlockQ4_K, Out>;
  table[8] = decode<BlockQ5_K, Out>;
  table[9] = decode<BlockQ6_K, Out>;
  table[17] = decode<BlockIq4Nl, Out>;
  table[19] = decode<BlockMxfp4, Out>;
}

// Codes in strips (tensor/block_rows.h): numbers [16 * i, ...) of a step.
struct CodesFp8 {
  static constexpr bool zeros = false;
  static Lanes load(const uint8_t* strip, int64_t step, int i) {
    return load_fp8(strip + step * 64 + 16 * i);
  }
};
struct CodesInt8 {
  static constexpr bool zeros = false;
  static Lanes load(const uint8_t* strip, int64_t step, int i) {
    return load_i8(strip + step * 64 + 16 * i);
  }
};
inline Whole load_half(const uint8_t* strip, int64_t step, int i) {
  const Whole both = load_u8(strip + step / 2 * 64 + 16 * i);
  return step % 2 == 0 ? both & 15 : shift_right(both, 4);
}
struct CodesFp4 {
  static constexpr bool zeros = false;
  static Lanes load(const uint8_t* strip, int64_t step, int i) {
    return choose(dure::load(mxfp4_values) * all(0.5f), load_half(strip, step, i));
  }
};
struct CodesInt4 {
  static constexpr bool zeros = true;
  static Lanes load(const uint8_t* strip, int64_t step, int i) {
    return to_lanes(load_half(strip, step, i));
  }
};

template <class Codes, class Out>
void decode_strip(const StripSteps& steps, typename Out::Number* to) {
  Lanes scales[4];
  Lanes zeros[4];
  for (int i = 0; i < 4; ++i) {
    scales[i] = load(steps.scales + 16 * i);
    zeros[i] = load(steps.zeros + 16 * i);
  }
  for (int64_t step = steps.begin; step < steps.end; ++step, to += 64) {
    for (int i = 0; i < 4; ++i) {
      Lanes codes = Codes::load(steps.strip, step, i);
      if constexpr (Codes::zeros) codes = codes - zeros[i];
      Out::put(to + 16 * i, codes * scales[i]);
    }
  }
}

template <class Out>
constexpr void fill_strips(StripDecoder<typename Out::Number> (&table)[scaled_kinds]) {
  table[0] = decode_strip<CodesFp8, Out>;
  table[1] = decode_strip<CodesInt8, Out>;
  table[2] = decode_strip<CodesFp4, Out>;
  table[3] = decode_strip<CodesInt4, Out>;
}

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
