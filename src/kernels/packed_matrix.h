// A weight matrix in the layout that the matmul kernels stream (geometry: tensor/packed_shape.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/aligned_buffer.h"
#include "tensor/packed_shape.h"

namespace dure {

class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(PackedShape shape);  // in memory of its own
  // In memory of others, which outlives it: shape.bytes() bytes, aligned to 64, that hold zeros, a
  // matrix packed before, or the rows of one in blocks.
  PackedMatrix(PackedShape shape, std::byte* memory);

  const PackedShape& shape() const { return shape_; }
  const std::byte* data() const { return data_; }
  int64_t bytes() const { return shape_.bytes(); }

  // Fills outputs [first, first + rows) from row-major source rows of k elements each, `stride`
  // bytes apart, converting type (round to nearest even), or to codes as pack_codes.h says. For
  // gate_up, outputs count gate first,
  // then up: gate output i is i, up output i is n / 2 + i. Rows may come in any order; thread-safe
  // for disjoint panels. Not for matrices in blocks.
  void pack_rows(int64_t first, int64_t rows, const void* source, int64_t stride,
                 DType source_type);

  // Of a matrix in blocks: where those of block_rows[index] lie, and behind them their scales.
  std::byte* blocks_of(size_t index);

 private:
  // Where a row goes.
  struct Place {
    int64_t panel = 0;
    int64_t column = 0;
  };
  Place place_of(int64_t row) const;
  void pack_coded_row(const std::byte* row, DType type, const CodeGroups& groups, Place to);

  PackedShape shape_;
  AlignedBuffer buffer_;  // empty: the memory is others'
  std::byte* data_ = nullptr;
};

}  // namespace dure
