// down(act(gate(x)) * up(x)), or without gate down(act(up(x))), split by intermediate columns over
// tp: a dense layer or a shared expert.
#pragma once

#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

// out[rows, hidden], replicated over tp. x: [rows, hidden].
void mlp_forward(const Runtime& runtime, const MlpWeights& weights,
                 const ActivationSpec& activation, const float* x, int64_t rows, float* out,
                 std::string_view what);

// Of an activation that has a gate.
Glu glu_of(const ActivationSpec& activation);

}  // namespace dure
