// See runtime.h.
#include "layers/runtime.h"

#include <algorithm>

namespace dure {

void Runtime::partial_product(const float* x, int64_t rows, const PackedMatrix& w,
                              float* out) const {
  if (w.shape().n == 0) {
    std::fill_n(out, rows * spec.hidden, 0.0f);
  } else {
    backend.matmul(x, rows, w, nullptr, compute, out);
  }
}

void Runtime::reduce_partial(float* data, int64_t count, std::string_view what) const {
  world.tp().all_reduce_tree({data, static_cast<size_t>(count)}, what);
}

void add_bias(const Runtime& runtime, float* x, int64_t rows, std::span<const float> bias) {
  if (bias.empty()) return;
  const auto width = static_cast<int64_t>(bias.size());
  for (int64_t row = 0; row < rows; ++row) runtime.backend.add(x + row * width, bias.data(), width);
}

}  // namespace dure
