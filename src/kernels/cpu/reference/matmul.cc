// Matrix products of the reference backend, straight from the packed layout.
#include <cmath>
#include <cstring>

#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/float_bits.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

float weight_at(const std::byte* data, DType dtype, int64_t index) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, data + index * 4, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data + index * 2, sizeof bits);
  return dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

// One output of one row: x[k] · column `column` of panel `panel`.
float dot(const float* x, const PackedMatrix& w, int64_t panel, int64_t column, Compute compute) {
  const PackedShape& shape = w.shape();
  const int64_t unit = shape.unit();
  int64_t base = panel * shape.padded_k() * panel_width;
  BinaryTree tree;
  for (int64_t length : shape.segments) {
    float sum = 0.0f;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t index = base + (i / unit * panel_width + column) * unit + i % unit;
      const float input = compute == Compute::bf16 ? float_from_bf16(bf16_from_float(x[i])) : x[i];
      sum = std::fma(input, weight_at(w.data(), shape.dtype, index), sum);
    }
    tree.push(sum);
    x += length;
    base += (length + unit - 1) / unit * unit * panel_width;
  }
  return tree.sum();
}

float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

void swiglu_row(const float* x, const PackedMatrix& w, const float* gate_bias, const float* up_bias,
                Compute compute, float* out) {
  for (int64_t i = 0; i < w.shape().n / 2; ++i) {
    const int64_t panel = i / panel_width * 2;
    const float gate = dot(x, w, panel, i % panel_width, compute);
    const float up = dot(x, w, panel + 1, i % panel_width, compute);
    out[i] = silu(gate + (gate_bias ? gate_bias[i] : 0.0f)) * (up + (up_bias ? up_bias[i] : 0.0f));
  }
}

void plain_row(const float* x, const PackedMatrix& w, const float* bias, Compute compute,
               float* out) {
  for (int64_t i = 0; i < w.shape().n; ++i)
    out[i] = dot(x, w, i / panel_width, i % panel_width, compute) + (bias ? bias[i] : 0.0f);
}

}  // namespace

void ReferenceBackend::matmul(const float* x, int64_t rows, const PackedMatrix& w,
                              const float* bias, Compute compute, float* out) {
  for (int64_t row = 0; row < rows; ++row)
    plain_row(x + row * w.shape().k(), w, bias, compute, out + row * w.shape().n);
}

void ReferenceBackend::matmul_swiglu(const float* x, int64_t rows, const PackedMatrix& w,
                                     const float* gate_bias, const float* up_bias, Compute compute,
                                     float* out) {
  for (int64_t row = 0; row < rows; ++row)
    swiglu_row(x + row * w.shape().k(), w, gate_bias, up_bias, compute,
               out + row * (w.shape().n / 2));
}

void ReferenceBackend::grouped_matmul(const float* x, const ExpertRows& rows,
                                      std::span<const PackedMatrix> experts, Compute compute,
                                      float* out) {
  for (size_t e = 0; e < experts.size(); ++e) {
    const PackedShape& shape = experts[e].shape();
    for (int64_t row = rows.begin[e]; row < rows.begin[e + 1]; ++row)
      plain_row(x + rows.source[static_cast<size_t>(row)] * shape.k(), experts[e], nullptr, compute,
                out + row * shape.n);
  }
}

void ReferenceBackend::grouped_matmul_swiglu(const float* x, const ExpertRows& rows,
                                             std::span<const PackedMatrix> experts, Compute compute,
                                             float* out) {
  for (size_t e = 0; e < experts.size(); ++e) {
    const PackedShape& shape = experts[e].shape();
    for (int64_t row = rows.begin[e]; row < rows.begin[e + 1]; ++row)
      swiglu_row(x + rows.source[static_cast<size_t>(row)] * shape.k(), experts[e], nullptr,
                 nullptr, compute, out + row * (shape.n / 2));
  }
}

}  // namespace dure
