// Block formats of 32 values: the first 16 in the low halves of bytes, the others in the high ones.
#include "tensor/block_decoders.h"
#include "tensor/block_format.h"

namespace dure {
namespace {

constexpr int half_block = 16;

// Codes of 4 bits from `codes`, each handed to value(code).
template <typename Value>
void decode_nibbles(const uint8_t* codes, float* to, Value value) {
  for (int i = 0; i < half_block; ++i) {
    to[i] = value(codes[i] & 15);
    to[i + half_block] = value(codes[i] >> 4);
  }
}

// Codes of 5 bits: the fifth bits of all 32 come first.
template <typename Value>
void decode_fives(const uint8_t* bytes, float* to, Value value) {
  const uint32_t high = u32_at(bytes);
  const uint8_t* codes = bytes + 4;
  for (int i = 0; i < half_block; ++i) {
    const auto fifth = [&](int at) { return static_cast<int>(high >> at & 1u) << 4; };
    to[i] = value((codes[i] & 15) | fifth(i));
    to[i + half_block] = value((codes[i] >> 4) | fifth(i + half_block));
  }
}

}  // namespace

void decode_q4_0(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  decode_nibbles(block + 2, to, [=](int code) { return static_cast<float>(code - 8) * scale; });
}

void decode_q4_1(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  const float least = half_at(block + 2);
  decode_nibbles(block + 4, to, [=](int code) { return static_cast<float>(code) * scale + least; });
}

void decode_q5_0(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  decode_fives(block + 2, to, [=](int code) { return static_cast<float>(code - 16) * scale; });
}

void decode_q5_1(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  const float least = half_at(block + 2);
  decode_fives(block + 4, to, [=](int code) { return static_cast<float>(code) * scale + least; });
}

void decode_q8_0(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 2 * half_block; ++i) {
    to[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  }
}

void decode_iq4_nl(const uint8_t* block, float* to) {
  const float scale = half_at(block);
  decode_nibbles(block + 2, to, [=](int code) {
    return static_cast<float>(iq4_levels[static_cast<size_t>(code)]) * scale;
  });
}

void decode_mxfp4(const uint8_t* block, float* to) {
  const float scale = mxfp4_scale(block[0]);
  decode_nibbles(block + 1, to, [=](int code) {
    const float magnitude = static_cast<float>(mxfp4_levels[static_cast<size_t>(code & 7)]);
    return (code < 8 ? magnitude : -magnitude) * scale;
  });
}

}  // namespace dure
