// Makes integer codes (tensor/code_format.h) of rows of numbers, and reads them back. Thread-safe
// for disjoint panels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/packed_shape.h"

namespace dure {

// The codes and scale of one group of `count` weights of one output, at most code_group. The scale
// is the smallest of fp16 with which every weight has a code:
//   q8: largest |w| / 127, codes 1 .. 255 for -127 .. 127: each weight within scale / 2
//   q4: w / -8 of the w with the largest |w| (the first such), codes 0 .. 15 for -8 .. 7: within
//       |scale| / 2, but |scale| where the code for 8 would be needed
// A group with NaN or infinity, or beyond fp16's scales, becomes NaN as a whole.
void quantize_group(const float* weights, int64_t count, CodeFormat format, uint8_t* codes,
                    uint16_t* scale);

// Writes one output's codes into its column (0 .. 31) of a panel, group after group.
class CodeWriter {
 public:
  CodeWriter(std::byte* panel, CodeFormat format, int64_t column)
      : at_(panel), format_(format), column_(column) {}
  void write(const uint8_t* codes, int64_t count, uint16_t scale);

 private:
  std::byte* at_;
  CodeFormat format_;
  int64_t column_;
};

// Reads them back.
class CodeReader {
 public:
  CodeReader(const std::byte* panel, CodeFormat format, int64_t column)
      : at_(panel), format_(format), column_(column) {}
  // Returns the group's scale; each weight is scale * whole.
  float read(int64_t count, int32_t* whole);

 private:
  const std::byte* at_;
  CodeFormat format_;
  int64_t column_;
};

}  // namespace dure
