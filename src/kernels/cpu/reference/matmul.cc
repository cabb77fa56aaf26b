// Matrix products of the reference backend, straight from the packed layout.
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/pack_codes.h"
#include "kernels/quantize_inputs.h"
#include "kernels/sum_order.h"
#include "tensor/float_bits.h"

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

// The same for integer codes.
float dot_codes(const float* x, const PackedMatrix& w, int64_t panel, int64_t column,
                Compute compute) {
  const PackedShape& shape = w.shape();
  const CodeGroups groups = shape.groups();
  CodeReader codes(w.data() + panel * groups.panel_bytes(shape.codes), shape.codes, column);
  BinaryTree tree;
  const int32_t* inputs = groups.inputs.data();
  for (const int32_t count : groups.of_segments) {
    float sum = 0.0f;
    for (int32_t g = 0; g < count; ++g, x += *inputs++) {
      int32_t whole[code_group];
      const float scale = codes.read(*inputs, whole);
      if (compute == Compute::fp32) {
        for (int32_t i = 0; i < *inputs; ++i)
          sum = std::fma(x[i], static_cast<float>(whole[i]) * scale, sum);
        continue;
      }
      const QuantizedInputs quantized = quantize_inputs(x, *inputs);
      int32_t products = 0;
      for (int32_t i = 0; i < *inputs; ++i) products += quantized.codes[i] * whole[i];
      sum = std::fma(static_cast<float>(products), scale * quantized.scale, sum);
    }
    tree.push(sum);
  }
  return tree.sum();
}

// The same for a matrix in blocks.
float dot_blocks(const float* x, const PackedMatrix& w, int64_t output, Compute compute) {
  const PackedShape& shape = w.shape();
  const PackedShape::BlockPlace place = shape.block_place(output);
  std::vector<float> weights(static_cast<size_t>(shape.k()));
  place.rows->decode(w.data() + place.offset, shape.held_inputs(), place.output, weights.data());
  size_t at = 0;
  BinaryTree tree;
  for (const int64_t length : shape.segments) {
    float sum = 0.0f;
    for (int64_t i = 0; i < length; ++i, ++x) {
      const float input = compute == Compute::bf16 ? float_from_bf16(bf16_from_float(*x)) : *x;
      const float weight = weights[at++];
      const float kept =
          shape.dtype == DType::bf16 ? float_from_bf16(bf16_from_float(weight)) : weight;
      sum = std::fma(input, kept, sum);
    }
    tree.push(sum);
  }
  return tree.sum();
}

// One output of one row: x[k] · column `column` of panel `panel`.
float dot(const float* x, const PackedMatrix& w, int64_t panel, int64_t column, Compute compute) {
  const PackedShape& shape = w.shape();
  if (shape.coded()) return dot_codes(x, w, panel, column, compute);
  if (shape.in_blocks()) return dot_blocks(x, w, shape.output_at(panel, column), compute);
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

// x * sigmoid(z)
float gated(float x, float z) {
  return x / (1.0f + std::exp(-z));
}

float gated_pair(const Glu& glu, float gate, float up) {
  switch (glu.kind) {
    case Glu::Kind::silu:
      return gated(gate, gate) * up;
    case Glu::Kind::gelu_tanh:  // 2 sqrt(2 / pi), and that times 0.044715
      return gated(gate, gate * std::fma(gate * gate, 0.0713548163f, 1.59576912f)) * up;
    case Glu::Kind::clamped_swish:  // NaN passes all clamps
      gate = gate > glu.limit ? glu.limit : gate;
      up = up > glu.limit ? glu.limit : up < -glu.limit ? -glu.limit : up;
      return gated(gate, glu.alpha * gate) * (up + 1.0f);
  }
  return 0.0f;
}

void glu_row(const float* x, const PackedMatrix& w, const float* gate_bias, const float* up_bias,
             const Glu& glu, Compute compute, float* out) {
  for (int64_t i = 0; i < w.shape().n / 2; ++i) {
    const int64_t panel = i / panel_width * 2;
    const float gate = dot(x, w, panel, i % panel_width, compute);
    const float up = dot(x, w, panel + 1, i % panel_width, compute);
    out[i] = gated_pair(glu, gate + (gate_bias ? gate_bias[i] : 0.0f),
                        up + (up_bias ? up_bias[i] : 0.0f));
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

void ReferenceBackend::matmul_glu(const float* x, int64_t rows, const PackedMatrix& w,
                                  const float* gate_bias, const float* up_bias, const Glu& glu,
                                  Compute compute, float* out) {
  for (int64_t row = 0; row < rows; ++row)
    glu_row(x + row * w.shape().k(), w, gate_bias, up_bias, glu, compute,
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

void ReferenceBackend::grouped_matmul_glu(const float* x, const ExpertRows& rows,
                                          std::span<const PackedMatrix> experts,
                                          const float* gate_bias, const float* up_bias,
                                          const Glu& glu, Compute compute, float* out) {
  for (size_t e = 0; e < experts.size(); ++e) {
    const PackedShape& shape = experts[e].shape();
    const int64_t outputs = shape.n / 2;
    const auto of_expert = [&](const float* bias) {
      return bias == nullptr ? nullptr : bias + static_cast<int64_t>(e) * outputs;
    };
    for (int64_t row = rows.begin[e]; row < rows.begin[e + 1]; ++row)
      glu_row(x + rows.source[static_cast<size_t>(row)] * shape.k(), experts[e],
              of_expert(gate_bias), of_expert(up_bias), glu, compute, out + row * outputs);
  }
}

}  // namespace dure
