// Reproducible inputs for kernel tests and benchmarks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/packed_matrix.h"

namespace dure {

// Uniform in [-1, 1).
inline std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = static_cast<float>(static_cast<int32_t>(generator())) * 0x1p-31f;
  return values;
}

inline PackedMatrix random_matrix(const PackedShape& shape, uint32_t seed) {
  PackedMatrix matrix(shape);
  const std::vector<float> source = random_floats(shape.n * shape.k(), seed);
  matrix.pack_rows(0, shape.n, source.data(), shape.k() * static_cast<int64_t>(sizeof(float)),
                   DType::f32);
  return matrix;
}

}  // namespace dure
