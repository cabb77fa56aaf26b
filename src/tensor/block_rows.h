// Outputs of a matrix that are kept in the same blocks of a checkpoint, those that hold the inputs
// of a rank. Blocks that have their scales lie row after row. Codes whose scales lie apart are
// ordered as products want them, 32 outputs (a strip) and pairs of inputs (a step) together, each
// strip whole blocks of 32 inputs and the last one whole too:
//   8 bits  [strips][steps][32 outputs][2 inputs]
//   4 bits  [strips][steps / 2][64]: byte i holds number i of the first step in its low half,
//           number i of the second one in its high half; number i is of output i / 2, input i % 2
// and then come the scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor/block_format.h"
#include "tensor/range.h"
#include "tensor/row_scales.h"

namespace dure {

inline constexpr int64_t strip_outputs = 32;
inline constexpr int64_t step_numbers = 2 * strip_outputs;

struct BlockRows {
  int64_t count = 0;
  BlockFormat format = BlockFormat::q8_0;
  std::optional<RowScales> scales = {};  // of codes
  bool operator==(const BlockRows&) const = default;

  // Of the weight's inputs `held`; blocks are counted from its first.
  Range blocks_of(Range held) const { return in_units(held, size_of(format).values); }
  int64_t row_bytes(Range held) const { return blocks_of(held).size() * size_of(format).bytes; }
  int64_t strip_bytes(Range held) const { return strip_outputs * row_bytes(held); }
  int64_t code_bytes(Range held) const {
    return scales ? in_units({0, count}, strip_outputs).size() * strip_bytes(held)
                  : count * row_bytes(held);
  }
  ScaleLayout scales_of(Range held) const {
    return scales ? ScaleLayout(*scales, count, held) : ScaleLayout();
  }
  int64_t bytes(Range held) const { return code_bytes(held) + scales_of(held).bytes; }

  // One of them as numbers, held.size() of them. `kept`: bytes(held).
  void decode(const std::byte* kept, Range held, int64_t output, float* to) const;
};

// One code of a strip, whose first input is a multiple of 32; as decode_blocks() makes it.
float code_at(BlockFormat format, const std::byte* strip, int64_t output, int64_t input);

}  // namespace dure
