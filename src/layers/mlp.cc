// See mlp.h.
#include "layers/mlp.h"

namespace dure {

void mlp_forward(const Runtime& runtime, const MlpWeights& weights, const float* x, int64_t rows,
                 float* out, std::string_view what) {
  const auto bias = [](const Vector& vector) { return vector.empty() ? nullptr : vector.data(); };
  float* mid = runtime.workspace.floats(StepBuffer::ffn);
  runtime.backend.matmul_glu(x, rows, weights.gate_up, bias(weights.gate_bias),
                             bias(weights.up_bias), {}, runtime.compute, mid);
  runtime.partial_product(mid, rows, weights.down, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, what);
  add_bias(runtime, out, rows, weights.down_bias);
}

}  // namespace dure
