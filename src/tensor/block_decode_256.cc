// Block formats of 256 values in groups with small integer scales of their own: the "K" formats and
// iq4_xs.
#include <array>

#include "tensor/block_decoders.h"
#include "tensor/block_fields.h"
#include "tensor/block_format.h"

namespace dure {
namespace {

constexpr int groups_of_32 = 8;

}  // namespace

// 16 bytes of scales (low half) and minima, 64 of codes, fp16 scale and minimum scale. Each run of
// 128 values is 32 bytes, of whose 2-bit fields the lowest are its first 32 values.
void decode_q2_k(const uint8_t* block, float* to) {
  const uint8_t* codes = block + 16;
  const float scale = half_at(block + 80);
  const float minimum = half_at(block + 82);
  for (int value = 0; value < 256; ++value) {
    const int group = block[value / 16];
    const int code = codes[value / 128 * 32 + value % 32] >> (value / 32 % 4 * 2) & 3;
    to[value] = scale * static_cast<float>(group & 15) * static_cast<float>(code) -
                minimum * static_cast<float>(group >> 4);
  }
}

// 32 bytes of third bits, 64 of codes as q2_k's, 12 of sixteen 6-bit scales (8 bytes of low halves,
// 4 of high pairs), fp16 scale. Where the third bit is not set, 4 is taken away.
void decode_q3_k(const uint8_t* block, float* to) {
  const uint8_t* codes = block + 32;
  const uint8_t* scales = block + 96;
  const float scale = half_at(block + 108);
  std::array<float, 16> of_group{};
  for (int group = 0; group < 16; ++group) {
    const int low = scales[group % 8] >> (group / 8 * 4) & 15;
    const int high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    of_group[static_cast<size_t>(group)] = scale * static_cast<float>((low | high << 4) - 32);
  }
  for (int value = 0; value < 256; ++value) {
    const int code = codes[value / 128 * 32 + value % 32] >> (value / 32 % 4 * 2) & 3;
    const int third = block[value % 32] >> (value / 32) & 1;
    to[value] =
        of_group[static_cast<size_t>(value / 16)] * static_cast<float>(code - (third != 0 ? 0 : 4));
  }
}

// fp16 scale and minimum scale, then 12 bytes of scales and minima of eight groups; code(group, i)
// is that of the group's value i.
template <typename Code>
void decode_with_minima(const uint8_t* block, float* to, Code code) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  uint8_t own[2 * groups_of_32];
  scales_and_minima(block + 4, own);
  for (int group = 0; group < groups_of_32; ++group) {
    const float step = scale * static_cast<float>(own[group]);
    const float less = minimum * static_cast<float>(own[group + groups_of_32]);
    for (int i = 0; i < 32; ++i) *to++ = step * static_cast<float>(code(group, i)) - less;
  }
}

// 128 bytes of codes: 32 bytes are 64 values, low halves first.
void decode_q4_k(const uint8_t* block, float* to) {
  decode_with_minima(block, to, [&](int group, int i) {
    return block[16 + group / 2 * 32 + i] >> (group % 2 * 4) & 15;
  });
}

// The same with 32 bytes of fifth bits before the codes: bit g of byte i is of value i of group g.
void decode_q5_k(const uint8_t* block, float* to) {
  decode_with_minima(block, to, [&](int group, int i) {
    const int fifth = block[16 + i] >> group & 1;
    return (block[48 + group / 2 * 32 + i] >> (group % 2 * 4) & 15) | fifth << 4;
  });
}

// 128 bytes of low halves, 64 of high pairs, 16 int8 scales, fp16 scale. Of each run of 128 values,
// 64 bytes of low halves and 32 of high pairs.
void decode_q6_k(const uint8_t* block, float* to) {
  const auto* scales = reinterpret_cast<const int8_t*>(block + 192);
  const float scale = half_at(block + 208);
  for (int value = 0; value < 256; ++value) {
    const int run = value / 128;
    const int quarter = value / 32 % 4;
    const int low = block[run * 64 + value % 64] >> (quarter / 2 * 4) & 15;
    const int high = block[128 + run * 32 + value % 32] >> (quarter * 2) & 3;
    const int sixteen = value / 16;
    to[value] =
        scale * static_cast<float>(scales[sixteen]) * static_cast<float>((low | high << 4) - 32);
  }
}

// fp16 scale, 2 bytes of high pairs and 4 of low halves of eight 6-bit scales, 128 of codes: 16
// bytes are 32 values, low halves first.
void decode_iq4_xs(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  const int high = u16_at(block + 2);
  for (int group = 0; group < groups_of_32; ++group) {
    const int low = block[4 + group / 2] >> (group % 2 * 4) & 15;
    const int own = (low | (high >> (2 * group) & 3) << 4) - 32;
    const float step = scale * static_cast<float>(own);
    const uint8_t* codes = block + 8 + group * 16;
    for (int i = 0; i < 32; ++i) {
      const int code = codes[i % 16] >> (i / 16 * 4) & 15;
      *to++ = step * static_cast<float>(iq4_levels[static_cast<size_t>(code)]);
    }
  }
}

}  // namespace dure
