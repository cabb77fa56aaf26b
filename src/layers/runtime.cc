// See runtime.h.
#include "layers/runtime.h"

namespace dure {

void Runtime::reduce_partial(float* data, int64_t count, std::string_view what) const {
  world.tp().all_reduce_tree({data, static_cast<size_t>(count)}, what);
}

void add_bias(const Runtime& runtime, float* x, int64_t rows, const std::vector<float>& bias) {
  if (bias.empty()) return;
  const auto width = static_cast<int64_t>(bias.size());
  for (int64_t row = 0; row < rows; ++row) runtime.backend.add(x + row * width, bias.data(), width);
}

}  // namespace dure
