// Construction of the vector backend, its norms, rotation, embedding and sampling.
#include <cmath>

#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

VectorBackend::VectorBackend(std::string_view isa, const KernelTable& kernels, int threads)
    : isa_(isa), kernels_(kernels), pool_(threads) {
  thread_scratch_.resize(static_cast<size_t>(pool_.threads()));
  thread_panels_.resize(static_cast<size_t>(pool_.threads()));
  sample_scratch_.resize(static_cast<size_t>(pool_.threads()));
}

std::byte* VectorBackend::reserve(AlignedBuffer& buffer, int64_t bytes) {
  if (buffer.size() < bytes) {
    buffer = AlignedBuffer();  // frees before it takes
    buffer = AlignedBuffer(bytes + bytes / 4);
  }
  return buffer.data();
}

void VectorBackend::rms_norm(const float* x, int64_t rows, int64_t width, int64_t stride,
                             const float* w, float eps, float* out) {
  each_row(rows, width, [&](int64_t row) {
    const float* in = x + row * stride;
    const float mean = kernels_.sum_squares(in, width) / static_cast<float>(width);
    kernels_.scale_row(in, width, 1.0f / std::sqrt(mean + eps), w, out + row * stride);
  });
}

void VectorBackend::sum_squares(const float* x, int64_t rows, int64_t groups, int64_t width,
                                int64_t stride, float* sums) {
  each_row(rows, groups * width, [&](int64_t row) {
    for (int64_t group = 0; group < groups; ++group)
      sums[row * groups + group] = kernels_.sum_squares(x + row * stride + group * width, width);
  });
}

void VectorBackend::scale_by_norm(float* x, int64_t rows, int64_t width, int64_t stride,
                                  const float* total, float count, const float* w, float eps) {
  each_row(rows, width, [&](int64_t row) {
    float* const in = x + row * stride;
    kernels_.scale_row(in, width, 1.0f / std::sqrt(total[row] / count + eps), w, in);
  });
}

void VectorBackend::layer_norm(const float* x, int64_t rows, int64_t width, int64_t stride,
                               const float* w, const float* b, float eps, float* out) {
  each_row(rows, width, [&](int64_t row) {
    kernels_.layer_norm(x + row * stride, width, w, b, eps, out + row * stride);
  });
}

void VectorBackend::rope(float* x, int64_t rows, int64_t heads, int64_t head_dim, int64_t stride,
                         const int32_t* positions, const RopeTable& table) {
  const int64_t half = table.dims / 2;
  const auto rotate = table.interleaved ? kernels_.rope_head_interleaved : kernels_.rope_head;
  each_row(rows, heads * head_dim, [&](int64_t row) {
    const float* cos = table.cos.data() + positions[row] * half;
    const float* sin = table.sin.data() + positions[row] * half;
    for (int64_t head = 0; head < heads; ++head)
      rotate(x + row * stride + head * head_dim, half, cos, sin);
  });
}

void VectorBackend::embed(const void* table, DType dtype, int64_t first, int64_t count,
                          int64_t hidden, std::span<const int32_t> ids, float* out) {
  const char* const data = static_cast<const char*>(table);
  each_row(static_cast<int64_t>(ids.size()), hidden, [&](int64_t row) {
    const int64_t id = ids[static_cast<size_t>(row)];
    float* const to = out + row * hidden;
    if (id >= first && id < first + count) {
      kernels_.widen[static_cast<size_t>(dtype)](data + (id - first) * hidden * bytes_of(dtype),
                                                 hidden, to);
    } else {
      std::fill(to, to + hidden, 0.0f);
    }
  });
}

void VectorBackend::sample(std::span<const SampleRow> rows, int64_t vocab, SampledRow* results) {
  pool_.run(static_cast<int64_t>(rows.size()), [&](int64_t row, int thread) {
    results[row] = sample_row(rows[static_cast<size_t>(row)], vocab, kernels_.exp,
                              sample_scratch_[static_cast<size_t>(thread)]);
  });
}

}  // namespace dure
