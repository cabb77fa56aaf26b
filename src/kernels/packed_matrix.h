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
  explicit PackedMatrix(PackedShape shape);

  const PackedShape& shape() const { return shape_; }
  const std::byte* data() const { return buffer_.data(); }
  int64_t bytes() const { return buffer_.size(); }

  // Fills outputs [first, first + rows) from row-major source rows of k elements each, `stride`
  // bytes apart, converting type (round to nearest even). For gate_up, outputs count gate first,
  // then up: gate output i is i, up output i is n / 2 + i. Rows may come in any order; thread-safe
  // for disjoint panels.
  void pack_rows(int64_t first, int64_t rows, const void* source, int64_t stride,
                 DType source_type);

 private:
  PackedShape shape_;
  AlignedBuffer buffer_;
};

}  // namespace dure
