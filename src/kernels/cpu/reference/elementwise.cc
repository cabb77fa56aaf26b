// Elementwise operations of the reference backend.
#include <cmath>

#include "kernels/cpu/reference/reference_backend.h"

namespace dure {
namespace {

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

}  // namespace

void ReferenceBackend::add(float* x, const float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] += y[i];
}

void ReferenceBackend::scale(float* x, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
}

void ReferenceBackend::softcap(float* x, int64_t count, float cap) {
  for (int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i] / cap) * cap;
}

void ReferenceBackend::relu_squared(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float positive = x[i] < 0.0f ? 0.0f : x[i];  // NaN stays
    x[i] = positive * positive;
  }
}

void ReferenceBackend::scale_rows(float* x, const float* factor, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i) x[row * width + i] *= factor[row];
}

void ReferenceBackend::multiply_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width,
                                           int64_t x_stride, int64_t gate_stride) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      x[row * x_stride + i] *= sigmoid(gate[row * gate_stride + i]);
}

void ReferenceBackend::multiply_by_silu(float* x, const float* gate, int64_t rows, int64_t width,
                                        int64_t x_stride, int64_t gate_stride) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i) x[row * x_stride + i] *= silu(gate[row * gate_stride + i]);
}

void ReferenceBackend::scale_rows_by_sigmoid(float* x, const float* gate, int64_t rows,
                                             int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const float factor = sigmoid(gate[row]);
    for (int64_t i = 0; i < width; ++i) x[row * width + i] *= factor;
  }
}

}  // namespace dure
