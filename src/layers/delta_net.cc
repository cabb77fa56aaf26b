// See delta_net.h.
#include "layers/delta_net.h"

#include <algorithm>

#include "layers/state_convolution.h"

namespace dure {

DeltaNet::DeltaNet(const Runtime& runtime, const DeltaNetSpec& spec, const StateWeights& weights)
    : spec_(spec),
      weights_(weights),
      heads_(heads_of(spec, runtime.layout.tp, runtime.share.place.tp)),
      row_(state_row(spec, heads_)),
      key_of_head_(kv_of_heads(heads_, spec.heads / spec.key_heads)) {}

void DeltaNet::recur(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                     const float* convolved, Rows beta, Rows decay, float* attended) const {
  DeltaRuleInput input;
  input.q = convolved;
  input.k = convolved + row_.q;
  input.v = convolved + row_.q + row_.k;
  input.stride = row_.convolved();
  input.a = decay.data;
  input.a_stride = decay.stride;
  input.b = beta.data;
  input.b_stride = beta.stride;
  DeltaRule rule;
  rule.heads = heads_.q.size();
  rule.key_dim = spec_.key_dim;
  rule.value_dim = spec_.value_dim;
  rule.key_of_head = key_of_head_;
  rule.decays = spec_.decay_rank ? spec_.key_dim : 1;
  rule.a_log = weights_.decay_log.data();
  rule.dt_bias = weights_.decay_bias.data();
  rule.lower_bound = static_cast<float>(spec_.decay_bound);
  runtime.backend.gated_delta_rule(input, batch.states, rule, cache.recurrence, attended);
}

void DeltaNet::mix(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                   const float* x, float* attended) const {
  Backend& backend = runtime.backend;
  const int64_t rows = batch.rows();
  const int64_t stride = row_.total();
  float* fused = runtime.workspace.floats(StepBuffer::qkv);
  backend.matmul(x, rows, weights_.in, nullptr, runtime.compute, fused);
  const float* convolved = convolve(runtime, batch, cache, weights_, row_, spec_.conv_width, fused);

  Rows gate{fused + row_.convolved(), stride};
  const Rows beta{gate.data + row_.gate, stride};
  Rows decay{beta.data + row_.beta, stride};
  const float* low_rank = decay.data + row_.decay;
  float* packed = runtime.workspace.floats(StepBuffer::state_gates);
  float* raised = packed + rows * std::max(row_.decay_a, row_.gate_a);
  const auto raise = [&](Rows& to, const PackedMatrix& w, int64_t rank, int64_t width) {
    if (rank == 0) return;
    for (int64_t i = 0; i < rows; ++i) std::copy_n(low_rank + i * stride, rank, packed + i * rank);
    backend.matmul(packed, rows, w, nullptr, runtime.compute, raised);
    to = {raised, width};
    low_rank += rank;
    raised += rows * width;
  };
  raise(decay, weights_.decay_b, row_.decay_a, row_.decay_b);
  raise(gate, weights_.gate_b, row_.gate_a, row_.gate_b);

  recur(runtime, batch, cache, convolved, beta, decay, attended);
  GatedNorm norm;
  norm.groups = heads_.q.size();
  norm.width = spec_.value_dim;
  norm.w = weights_.norm.data();
  norm.eps = static_cast<float>(runtime.spec.norm_eps);
  norm.gate = spec_.sigmoid_gate ? GatedNorm::Gate::sigmoid : GatedNorm::Gate::silu;
  backend.gated_norm(attended, rows, row_.v, gate.data, gate.stride, norm, attended);
}

void DeltaNet::forward(const Runtime& runtime, const Batch& batch, RopeTables&,
                       const LayerCache& cache, const float* x, float* out) const {
  const int64_t rows = batch.rows();
  float* attended = runtime.workspace.floats(StepBuffer::attended);
  if (heads_.q.size() > 0) mix(runtime, batch, cache, x, attended);
  runtime.partial_product(attended, rows, weights_.out, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, "delta net output");
}

}  // namespace dure
