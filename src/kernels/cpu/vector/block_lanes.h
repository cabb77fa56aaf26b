// Blocks of checkpoints (tensor/block_format.h) over Lanes: the formats that people run, each by
// the operations of its scalar definition, and how rows of numbers become panels. Include after one
// lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "tensor/block_fields.h"

namespace dure {
namespace {

// A format is a struct with the bytes and values of a block and a function that decodes one.
struct BlockQ8_0 {
  static constexpr int64_t bytes = 34, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    store(to, load_i8(block + 2) * scale);
    store(to + 16, load_i8(block + 18) * scale);
  }
};

// Codes of 4 bits, the first 16 in the low halves of 16 bytes: Level makes numbers of them.
template <class Level>
inline void decode_nibbles(const uint8_t* codes, float* to, const Level& level) {
  const Whole both = load_u8(codes);
  store(to, level(both & 15, 0));
  store(to + 16, level(shift_right(both, 4), 16));
}

struct BlockQ4_0 {
  static constexpr int64_t bytes = 18, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    decode_nibbles(block + 2, to,
                   [&](Whole code, int) { return (to_lanes(code) - all(8.0f)) * scale; });
  }
};
struct BlockQ4_1 {
  static constexpr int64_t bytes = 20, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    const Lanes least = all(half_at(block + 2));
    decode_nibbles(block + 4, to, [&](Whole code, int) { return to_lanes(code) * scale + least; });
  }
};

inline uint32_t word_at(const uint8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

struct BlockQ5_0 {
  static constexpr int64_t bytes = 22, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    const uint32_t fifths = word_at(block + 2);
    decode_nibbles(block + 6, to, [&](Whole code, int first) {
      const Whole whole = code | shift_left(bits_of(fifths >> first), 4);
      return (to_lanes(whole) - all(16.0f)) * scale;
    });
  }
};
struct BlockQ5_1 {
  static constexpr int64_t bytes = 24, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    const Lanes least = all(half_at(block + 2));
    const uint32_t fifths = word_at(block + 4);
    decode_nibbles(block + 8, to, [&](Whole code, int first) {
      return to_lanes(code | shift_left(bits_of(fifths >> first), 4)) * scale + least;
    });
  }
};

// 16 codes of a group of 32, from value `i` of the group on, by Code.
template <class Code>
inline void decode_with_minima(const uint8_t* block, float* to, const Code& code) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum own = scale_and_minimum(block + 4, group);
    const Lanes step = all(scale * own.scale);
    const Lanes less = all(minimum * own.minimum);
    for (int i = 0; i < 32; i += 16)
      store(to + group * 32 + i, step * to_lanes(code(group, i)) - less);
  }
}
struct BlockQ4_K {
  static constexpr int64_t bytes = 144, values = 256;
  static void decode(const uint8_t* block, float* to) {
    decode_with_minima(block, to, [&](int group, int i) {
      return shift_right(load_u8(block + 16 + group / 2 * 32 + i), group % 2 * 4) & 15;
    });
  }
};
struct BlockQ5_K {
  static constexpr int64_t bytes = 176, values = 256;
  static void decode(const uint8_t* block, float* to) {
    decode_with_minima(block, to, [&](int group, int i) {
      const Whole fifth = shift_right(load_u8(block + 16 + i), group) & 1;
      const Whole low = shift_right(load_u8(block + 48 + group / 2 * 32 + i), group % 2 * 4) & 15;
      return low | shift_left(fifth, 4);
    });
  }
};
struct BlockQ6_K {
  static constexpr int64_t bytes = 210, values = 256;
  static void decode(const uint8_t* block, float* to) {
    const float scale = half_at(block + 208);
    for (int value = 0; value < 256; value += 16) {
      const int run = value / 128;
      const int quarter = value / 32 % 4;
      const Whole low = shift_right(load_u8(block + run * 64 + value % 64), quarter / 2 * 4) & 15;
      const Whole high = shift_right(load_u8(block + 128 + run * 32 + value % 32), quarter * 2) & 3;
      const auto own = static_cast<float>(static_cast<int8_t>(block[192 + value / 16]));
      store(to + value, all(scale * own) * (to_lanes(low | shift_left(high, 4)) - all(32.0f)));
    }
  }
};

// -0 for code 8 of mxfp4: the magnitude's sign is turned.
alignas(64) constexpr float mxfp4_values[16] = {0,     1,  2,  3,  4,  6,  8,  12,
                                                -0.0f, -1, -2, -3, -4, -6, -8, -12};
alignas(64) constexpr float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};
struct BlockMxfp4 {
  static constexpr int64_t bytes = 17, values = 32;
  static void decode(const uint8_t* block, float* to) {
    // 2^(exponent - 128); 2^-128 and 2^-127 are subnormal.
    const uint32_t exponent = block[0];
    const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23;
    float power;
    __builtin_memcpy(&power, &bits, sizeof power);
    const Lanes scale = all(power);
    const Lanes levels = load(mxfp4_values);
    decode_nibbles(block + 1, to, [&](Whole code, int) { return choose(levels, code) * scale; });
  }
};
struct BlockIq4Nl {
  static constexpr int64_t bytes = 18, values = 32;
  static void decode(const uint8_t* block, float* to) {
    const Lanes scale = all(half_at(block));
    const Lanes levels = load(iq4_values);
    decode_nibbles(block + 2, to, [&](Whole code, int) { return choose(levels, code) * scale; });
  }
};

template <class Format>
void decode(const uint8_t* blocks, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i)
    Format::decode(blocks + i * Format::bytes, out + i * Format::values);
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
