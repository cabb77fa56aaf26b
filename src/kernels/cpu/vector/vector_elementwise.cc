// Elementwise operations of the vector backend.
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

void VectorBackend::add(float* x, const float* y, int64_t count) {
  each_piece(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] += y[i];
  });
}

void VectorBackend::scale(float* x, int64_t count, float factor) {
  each_piece(count, [&](int64_t begin, int64_t end) {
    kernels_.scale_row(x + begin, end - begin, factor, nullptr, x + begin);
  });
}

void VectorBackend::softcap(float* x, int64_t count, float cap) {
  each_piece(count,
             [&](int64_t begin, int64_t end) { kernels_.softcap(x + begin, end - begin, cap); });
}

void VectorBackend::relu_squared(float* x, int64_t count) {
  each_piece(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float positive = x[i] < 0.0f ? 0.0f : x[i];  // NaN stays
      x[i] = positive * positive;
    }
  });
}

void VectorBackend::scale_rows(float* x, const float* factor, int64_t rows, int64_t width) {
  each_row(rows, width, [&](int64_t row) {
    float* const at = x + row * width;
    kernels_.scale_row(at, width, factor[row], nullptr, at);
  });
}

void VectorBackend::multiply_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width,
                                        int64_t x_stride, int64_t gate_stride) {
  const auto gate_row = kernels_.gate_row[1];
  each_row(rows, width, [&](int64_t row) {
    float* at = x + row * x_stride;
    gate_row(at, gate + row * gate_stride, width, at);
  });
}

void VectorBackend::multiply_by_silu(float* x, const float* gate, int64_t rows, int64_t width,
                                     int64_t x_stride, int64_t gate_stride) {
  const auto gate_row = kernels_.gate_row[0];
  each_row(rows, width, [&](int64_t row) {
    float* at = x + row * x_stride;
    gate_row(at, gate + row * gate_stride, width, at);
  });
}

void VectorBackend::scale_rows_by_sigmoid(float* x, const float* gate, int64_t rows,
                                          int64_t width) {
  each_row(rows, width,
           [&](int64_t row) { kernels_.scale_by_sigmoid(x + row * width, gate[row], width); });
}

}  // namespace dure
