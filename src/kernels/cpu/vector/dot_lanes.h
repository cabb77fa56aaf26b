// Products of rows with rows over Lanes, a register tile of them at once: elements lie in the
// lanes, so each product is 16 running sums, added in the order of sum_order.h. Include after one
// lanes_*.h.
#pragma once

#include "kernels/cpu/vector/math_lanes.h"

namespace dure {
namespace {

// out[i][j] = x[i] · y[j], for dot_rows rows of x in fp32 and dot_columns stored rows of y, `width`
// elements each.
template <class Type>
inline void dot_tile(const float* const* x, const typename Type::Stored* const* y, int64_t width,
                     float* out) {
  Lanes sum[dot_rows * dot_columns];
  for (Lanes& s : sum) s = zero();
  const auto add = [&](const auto& load_x, const auto& load_y) {
    Lanes column[dot_columns];
    for (int j = 0; j < dot_columns; ++j) column[j] = load_y(y[j]);
    for (int i = 0; i < dot_rows; ++i) {
      const Lanes row = load_x(x[i]);
      for (int j = 0; j < dot_columns; ++j)
        sum[i * dot_columns + j] = fma(row, column[j], sum[i * dot_columns + j]);
    }
  };
  int64_t d = 0;
  for (; d + 16 <= width; d += 16)
    add([d](const float* p) { return load(p + d); },
        [d](const auto* p) { return Type::load(p + d); });
  if (const int64_t n = width - d; n > 0)
    add([d, n](const float* p) { return load_first(p + d, n); },
        [d, n](const auto* p) { return Type::load_first(p + d, n); });
  static_assert(dot_rows * dot_columns % 4 == 0);
  for (int i = 0; i < dot_rows * dot_columns; i += 4)
    store_sums(out + i, sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
}

// Calls fn(i, j, x[i] · y[j]) for all pairs of `rows` rows of x and `columns` rows of y, which
// row_of(i) and column_of(j) find.
template <class Type, class Row, class Column, class Function>
inline void each_dot(int64_t rows, int64_t columns, int64_t width, const Row& row_of,
                     const Column& column_of, const Function& fn) {
  for (int64_t i = 0; i < rows; i += dot_rows) {
    // A tile that hangs over the edge computes its last row or column several times.
    const float* x[dot_rows];
    for (int64_t k = 0; k < dot_rows; ++k) x[k] = row_of(i + k < rows ? i + k : rows - 1);
    for (int64_t j = 0; j < columns; j += dot_columns) {
      const typename Type::Stored* y[dot_columns];
      for (int64_t k = 0; k < dot_columns; ++k)
        y[k] = column_of(j + k < columns ? j + k : columns - 1);
      alignas(64) float dots[dot_rows * dot_columns];
      dot_tile<Type>(x, y, width, dots);
      for (int64_t a = 0; a < dot_rows && i + a < rows; ++a)
        for (int64_t b = 0; b < dot_columns && j + b < columns; ++b)
          fn(i + a, j + b, dots[a * dot_columns + b]);
    }
  }
}

}  // namespace
}  // namespace dure
