// Block formats of 256 values whose codes choose from books.
#include <array>
#include <bit>

#include "tensor/block_books.h"
#include "tensor/block_decoders.h"

namespace dure {
namespace {

constexpr std::array<float, 4> iq1_levels = {-1.0f, 0.0f, 1.0f, 0.0f};
constexpr std::array<float, 4> iq2_levels = {8.0f, 25.0f, 43.0f, 0.0f};
constexpr std::array<float, 8> iq3_xxs_levels = {4.0f,  12.0f, 20.0f, 28.0f,
                                                 36.0f, 44.0f, 52.0f, 62.0f};
constexpr float iq1_shift = 0.125f;

float iq2_level(uint16_t entry, int i) {
  return iq2_levels[static_cast<size_t>(entry >> (2 * i) & 3)];
}

float sign(uint32_t signs, int i) {
  return (signs >> i & 1u) != 0 ? -1.0f : 1.0f;
}

// Seven stored signs; the eighth makes their number even.
uint32_t with_eighth(uint32_t seven) {
  return seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7;
}

// Eight values of an entry of an iq2 book.
float* eight(float step, uint16_t entry, uint32_t signs, float* to) {
  for (int i = 0; i < 8; ++i) *to++ = step * iq2_level(entry, i) * sign(signs, i);
  return to;
}

// Four values of an entry of the iq3_xxs book.
float* four(float step, uint16_t entry, uint32_t signs, float* to) {
  for (int i = 0; i < 4; ++i) {
    *to++ = step * iq3_xxs_levels[static_cast<size_t>(entry >> (3 * i) & 7)] * sign(signs, i);
  }
  return to;
}

// Eight values of an entry of the iq1 book.
float* shifted(float step, size_t index, float shift, float* to) {
  const uint16_t entry = iq1_book[index];
  for (int i = 0; i < 8; ++i) {
    *to++ = step * (iq1_levels[static_cast<size_t>(entry >> (2 * i) & 3)] + shift);
  }
  return to;
}

}  // namespace

// fp16 scale, then for each 32 values four book numbers of 8 bits, four times seven signs, and a
// scale of 4 bits.
void decode_iq2_xxs(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const uint8_t* numbers = block + 2 + group * 8;
    const uint32_t rest = u32_at(numbers + 4);
    const float step = scale * (0.5f + static_cast<float>(rest >> 28)) * 0.25f;
    for (int i = 0; i < 4; ++i) {
      to = eight(step, iq2_xxs_book[numbers[i]], with_eighth(rest >> (7 * i) & 127u), to);
    }
  }
}

// fp16 scale, 32 words of a book number of 9 bits and seven signs, then scales of 4 bits for each
// 16 values.
void decode_iq2_xs(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    const uint32_t word = u16_at(block + 2 + 2 * i);
    const int own = block[66 + i / 4] >> (i / 2 % 2 * 4) & 15;
    const float step = scale * (0.5f + static_cast<float>(own)) * 0.25f;
    to = eight(step, iq2_xs_book[word & 511u], with_eighth(word >> 9), to);
  }
}

// fp16 scale, 32 bytes of book numbers, 32 of signs, 8 of the numbers' ninth and tenth bits, then
// scales as iq2_xs has them.
void decode_iq2_s(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    const auto high = static_cast<size_t>(block[66 + i / 4] >> (i % 4 * 2) & 3);
    const int own = block[74 + i / 4] >> (i / 2 % 2 * 4) & 15;
    const float step = scale * (0.5f + static_cast<float>(own)) * 0.25f;
    to = eight(step, iq2_s_book[block[2 + i] | high << 8], block[34 + i], to);
  }
}

// fp16 scale, 64 bytes of book numbers, then for each 32 values four times seven signs and a scale
// of 4 bits.
void decode_iq3_xxs(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const uint32_t rest = u32_at(block + 66 + 4 * group);
    const float step = scale * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    for (int i = 0; i < 4; ++i) {
      const uint32_t signs = with_eighth(rest >> (7 * i) & 127u);
      const uint8_t* numbers = block + 2 + group * 8 + 2 * i;
      to = four(step, iq3_xxs_book[numbers[0]], signs, to);
      to = four(step, iq3_xxs_book[numbers[1]], signs >> 4, to);
    }
  }
}

// fp16 scale, 64 bytes of book numbers, 8 of their ninth bits, 32 of signs, 4 of scales of 4 bits
// for each 32 values.
void decode_iq3_s(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 64; ++i) {
    const auto ninth = static_cast<size_t>(block[66 + i / 8] >> (i % 8) & 1);
    const uint32_t signs = block[74 + i / 2] >> (i % 2 * 4);
    const int own = block[106 + i / 16] >> (i / 8 % 2 * 4) & 15;
    const float step = scale * static_cast<float>(1 + 2 * own);
    const uint16_t entry = iq3_s_book[block[2 + i] | ninth << 8];
    for (int j = 0; j < 4; ++j) {
      *to++ = step * static_cast<float>(1 + 2 * (entry >> (3 * j) & 7)) * sign(signs, j);
    }
  }
}

// fp16 scale, 32 bytes of book numbers, then for each 32 values a word: three more bits of each
// number, a scale of 3 bits and the direction of the shift.
void decode_iq1_s(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const uint32_t word = u16_at(block + 34 + 2 * group);
    const float step = scale * static_cast<float>(2 * (word >> 12 & 7u) + 1);
    const float shift = (word & 0x8000u) != 0 ? -iq1_shift : iq1_shift;
    for (int i = 0; i < 4; ++i) {
      const size_t high = word >> (3 * i) & 7u;
      to = shifted(step, block[2 + 4 * group + i] | high << 8, shift, to);
    }
  }
}

// 32 bytes of book numbers, 16 of halves with three more bits of a number and the direction of its
// shift, four words of four scales of 3 bits each, whose highest halves together are the fp16
// scale.
void decode_iq1_m(const uint8_t* block, float* to) {
  const uint8_t* words = block + 48;
  uint32_t half = 0;
  for (int i = 0; i < 4; ++i) half |= static_cast<uint32_t>(u16_at(words + 2 * i) >> 12) << (4 * i);
  const float scale = float_from_f16(static_cast<uint16_t>(half));
  for (int i = 0; i < 32; ++i) {
    const uint32_t own = u16_at(words + i / 8 * 2) >> (i / 2 % 4 * 3) & 7u;
    const float step = scale * static_cast<float>(2 * own + 1);
    const int more = block[32 + i / 2] >> (i % 2 * 4) & 15;
    const float shift = (more & 8) != 0 ? -iq1_shift : iq1_shift;
    to = shifted(step, block[i] | static_cast<size_t>(more & 7) << 8, shift, to);
  }
}

}  // namespace dure
