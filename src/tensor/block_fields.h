// Fields of blocks that several readers share. Not inline but static: some are compiled for one
// instruction set, and must not become everybody's.
#pragma once

#include <cstdint>

namespace dure {

// q4_k, q5_k: scales and minima of eight groups, 6 bits each, in 12 bytes. Those of the first four
// groups are the low 6 bits of bytes 0-3 and 4-7; of the others bytes 8-11 hold the low 4 bits of
// both, and bytes 0-3 and 4-7 the high 2.
// All of them: eight scales, then eight minima.
[[maybe_unused]] static void scales_and_minima(const uint8_t* packed, uint8_t* to) {
  uint32_t word[3];
  __builtin_memcpy(word, packed, sizeof word);
  const uint32_t made[4] = {
      word[0] & 0x3f3f3f3fu, (word[2] & 0x0f0f0f0fu) | (word[0] >> 6 & 0x03030303u) << 4,
      word[1] & 0x3f3f3f3fu, (word[2] >> 4 & 0x0f0f0f0fu) | (word[1] >> 6 & 0x03030303u) << 4};
  __builtin_memcpy(to, made, sizeof made);
}

}  // namespace dure
