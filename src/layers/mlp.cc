// See mlp.h.
#include "layers/mlp.h"

#include "base/error.h"

namespace dure {

void mlp_forward(const Runtime& runtime, const MlpWeights& weights,
                 const ActivationSpec& activation, const float* x, int64_t rows, float* out,
                 std::string_view what) {
  float* mid = runtime.workspace.floats(StepBuffer::ffn);
  if (activation.has_gate()) {
    runtime.backend.matmul_glu(x, rows, weights.gate_up, data_or_null(weights.gate_bias),
                               data_or_null(weights.up_bias), glu_of(activation), runtime.compute,
                               mid);
  } else {
    runtime.backend.matmul(x, rows, weights.gate_up, data_or_null(weights.up_bias), runtime.compute,
                           mid);
    runtime.backend.relu_squared(mid, rows * weights.gate_up.shape().n);
  }
  runtime.partial_product(mid, rows, weights.down, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, what);
  add_bias(runtime, out, rows, weights.down_bias);
}

Glu glu_of(const ActivationSpec& activation) {
  Glu glu;
  switch (activation.kind) {
    case Activation::silu:
      glu.kind = Glu::Kind::silu;
      break;
    case Activation::gelu_tanh:
      glu.kind = Glu::Kind::gelu_tanh;
      break;
    case Activation::clamped_swish:
      glu.kind = Glu::Kind::clamped_swish;
      break;
    case Activation::clamped_silu:
    case Activation::situ:
    case Activation::relu_squared:
      DURE_CHECK(false);  // the first two are planned only, the last has no gate
  }
  glu.alpha = static_cast<float>(activation.alpha);
  glu.limit = static_cast<float>(activation.limit);
  return glu;
}

}  // namespace dure
