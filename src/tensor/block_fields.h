// Fields of blocks that several readers share. Not inline but static: some are compiled for one
// instruction set, and must not become everybody's.
#pragma once

#include <cstdint>

namespace dure {

// q4_k, q5_k: scales and minima of eight groups, 6 bits each, in 12 bytes. Those of the first four
// groups are the low 6 bits of bytes 0-3 and 4-7; of the others bytes 8-11 hold the low 4 bits of
// both, and bytes 0-3 and 4-7 the high 2.
struct ScaleAndMinimum {
  float scale;
  float minimum;
};
[[maybe_unused]] static ScaleAndMinimum scale_and_minimum(const uint8_t* packed, int group) {
  if (group < 4) {
    return {static_cast<float>(packed[group] & 63), static_cast<float>(packed[group + 4] & 63)};
  }
  const int low = packed[group + 4];
  return {static_cast<float>((low & 15) | (packed[group - 4] >> 6) << 4),
          static_cast<float>((low >> 4) | (packed[group] >> 6) << 4)};
}

}  // namespace dure
