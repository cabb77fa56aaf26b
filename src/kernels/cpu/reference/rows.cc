// Norms, rotation, embedding and sampling of the reference backend.
#include <cmath>
#include <cstring>

#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/cpu/sample_row.h"
#include "kernels/sum_order.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

float squares(const float* x, int64_t width) {
  float lanes[sum_lanes] = {};
  for (int64_t i = 0; i < width; ++i) {
    float& lane = lanes[i % sum_lanes];
    lane = std::fma(x[i], x[i], lane);
  }
  return add_lanes(lanes);
}

void scale_row(const float* x, int64_t width, float factor, const float* w, float* out) {
  for (int64_t i = 0; i < width; ++i) out[i] = x[i] * factor * (w ? w[i] : 1.0f);
}

void exp_row(const float* x, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::exp(x[i]);
}

}  // namespace

void ReferenceBackend::sample(std::span<const SampleRow> rows, int64_t vocab, SampledRow* results) {
  SampleScratch scratch;
  for (const SampleRow& row : rows) *results++ = sample_row(row, vocab, exp_row, scratch);
}

void ReferenceBackend::rms_norm(const float* x, int64_t rows, int64_t width, int64_t stride,
                                const float* w, float eps, float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * stride;
    const float mean = squares(in, width) / static_cast<float>(width);
    scale_row(in, width, 1.0f / std::sqrt(mean + eps), w, out + row * stride);
  }
}

void ReferenceBackend::sum_squares(const float* x, int64_t rows, int64_t groups, int64_t width,
                                   int64_t stride, float* sums) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      sums[row * groups + group] = squares(x + row * stride + group * width, width);
}

void ReferenceBackend::scale_by_norm(float* x, int64_t rows, int64_t width, int64_t stride,
                                     const float* total, float count, const float* w, float eps) {
  for (int64_t row = 0; row < rows; ++row) {
    float* in = x + row * stride;
    scale_row(in, width, 1.0f / std::sqrt(total[row] / count + eps), w, in);
  }
}

void ReferenceBackend::layer_norm(const float* x, int64_t rows, int64_t width, int64_t stride,
                                  const float* w, const float* b, float eps, float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* const in = x + row * stride;
    float* const to = out + row * stride;
    float sums[sum_lanes] = {};
    for (int64_t i = 0; i < width; ++i) sums[i % sum_lanes] += in[i];
    const float mean = add_lanes(sums) / static_cast<float>(width);
    float deviations[sum_lanes] = {};
    for (int64_t i = 0; i < width; ++i) {
      float& lane = deviations[i % sum_lanes];
      lane = std::fma(in[i] - mean, in[i] - mean, lane);
    }
    const float variance = add_lanes(deviations) / static_cast<float>(width);
    const float factor = 1.0f / std::sqrt(variance + eps);
    for (int64_t i = 0; i < width; ++i)
      to[i] = std::fma((in[i] - mean) * factor, w ? w[i] : 1.0f, b ? b[i] : 0.0f);
  }
}

void ReferenceBackend::rope(float* x, int64_t rows, int64_t heads, int64_t head_dim, int64_t stride,
                            const int32_t* positions, const RopeTable& table) {
  const int64_t half = table.dims / 2;
  for (int64_t row = 0; row < rows; ++row) {
    const float* cos = table.cos.data() + positions[row] * half;
    const float* sin = table.sin.data() + positions[row] * half;
    for (int64_t head = 0; head < heads; ++head) {
      float* const at = x + row * stride + head * head_dim;
      for (int64_t i = 0; i < half; ++i) {
        float& a = at[table.interleaved ? 2 * i : i];
        float& b = at[table.interleaved ? 2 * i + 1 : i + half];
        const float first = a;
        a = std::fma(first, cos[i], -(b * sin[i]));
        b = std::fma(b, cos[i], first * sin[i]);
      }
    }
  }
}

void ReferenceBackend::embed(const void* table, DType dtype, int64_t first, int64_t count,
                             int64_t hidden, std::span<const int32_t> ids, float* out) {
  const std::byte* const data = static_cast<const std::byte*>(table);
  for (const int32_t id : ids) {
    const bool held = id >= first && id < first + count;
    const std::byte* row = data + (held ? id - first : 0) * hidden * bytes_of(dtype);
    for (int64_t i = 0; i < hidden; ++i) {
      float value = 0.0f;
      if (held && dtype == DType::f32) {
        std::memcpy(&value, row + i * 4, 4);
      } else if (held) {
        uint16_t bits;
        std::memcpy(&bits, row + i * 2, 2);
        value = dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
      }
      *out++ = value;
    }
  }
}

}  // namespace dure
