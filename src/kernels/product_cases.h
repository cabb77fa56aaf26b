// For tests of products: a whole one, and how inputs are cut.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/backend.h"

namespace dure {

// [rows, outputs]; NaN where the backend writes nothing.
inline std::vector<float> multiply(Backend& backend, const std::vector<float>& x, int64_t rows,
                                   const PackedMatrix& w, Compute compute,
                                   const float* bias = nullptr) {
  std::vector<float> out(static_cast<size_t>(rows * w.shape().n),
                         std::numeric_limits<float>::quiet_NaN());
  backend.matmul(x.data(), rows, w, bias, compute, out.data());
  return out;
}

// `count` segments of k inputs, as equal as may be.
inline std::vector<int64_t> pieces(int64_t k, int64_t count) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(k * (i + 1) / count - k * i / count);
  return lengths;
}

}  // namespace dure
