// Outputs of a matrix that are kept in the same blocks of a checkpoint: row after row those that
// hold the inputs of a rank and, of codes, their scales behind the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor/block_format.h"
#include "tensor/range.h"
#include "tensor/row_scales.h"

namespace dure {

struct BlockRows {
  int64_t count = 0;
  BlockFormat format = BlockFormat::q8_0;
  std::optional<RowScales> scales = {};  // of codes
  bool operator==(const BlockRows&) const = default;

  // Of the weight's inputs `held`; blocks are counted from its first.
  Range blocks_of(Range held) const { return in_units(held, size_of(format).values); }
  int64_t row_bytes(Range held) const { return blocks_of(held).size() * size_of(format).bytes; }
  ScaleLayout scales_of(Range held) const {
    return scales ? ScaleLayout(*scales, count, held) : ScaleLayout();
  }
  int64_t bytes(Range held) const { return count * row_bytes(held) + scales_of(held).bytes; }

  // One of them as numbers, held.size() of them. `kept`: bytes(held).
  void decode(const std::byte* kept, Range held, int64_t output, float* to) const;
};

}  // namespace dure
