// One function for each block format: one block to its numbers. Inside of block_format.cc only.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/float_bits.h"

namespace dure {

// block: bytes of one block; to: its values.
void decode_q4_0(const uint8_t* block, float* to);
void decode_q4_1(const uint8_t* block, float* to);
void decode_q5_0(const uint8_t* block, float* to);
void decode_q5_1(const uint8_t* block, float* to);
void decode_q8_0(const uint8_t* block, float* to);
void decode_q2_k(const uint8_t* block, float* to);
void decode_q3_k(const uint8_t* block, float* to);
void decode_q4_k(const uint8_t* block, float* to);
void decode_q5_k(const uint8_t* block, float* to);
void decode_q6_k(const uint8_t* block, float* to);
void decode_iq1_s(const uint8_t* block, float* to);
void decode_iq1_m(const uint8_t* block, float* to);
void decode_iq2_xxs(const uint8_t* block, float* to);
void decode_iq2_xs(const uint8_t* block, float* to);
void decode_iq2_s(const uint8_t* block, float* to);
void decode_iq3_xxs(const uint8_t* block, float* to);
void decode_iq3_s(const uint8_t* block, float* to);
void decode_iq4_nl(const uint8_t* block, float* to);
void decode_iq4_xs(const uint8_t* block, float* to);
void decode_mxfp4(const uint8_t* block, float* to);

inline uint16_t u16_at(const uint8_t* bytes) {
  return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}
inline uint32_t u32_at(const uint8_t* bytes) {
  return u16_at(bytes) | static_cast<uint32_t>(u16_at(bytes + 2)) << 16;
}
inline float half_at(const uint8_t* bytes) {
  return float_from_f16(u16_at(bytes));
}

}  // namespace dure
