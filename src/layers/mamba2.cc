// See mamba2.h.
#include "layers/mamba2.h"

#include <algorithm>

#include "layers/head_sums.h"
#include "layers/state_convolution.h"

namespace dure {

Mamba2::Mamba2(const Runtime& runtime, const Mamba2Spec& spec, const StateWeights& weights)
    : spec_(spec),
      weights_(weights),
      heads_(heads_of(spec, runtime.layout.tp, runtime.share.place.tp)),
      row_(state_row(spec, heads_)) {
  const int64_t shared = spec.heads / spec.groups;
  group_of_head_ = kv_of_heads(heads_, shared);
  for (int tp = 0; tp < runtime.layout.tp; ++tp) {
    groups_are_whole_ &= heads_of(spec, runtime.layout.tp, tp).q.begin % shared == 0;
  }
}

void Mamba2::scan(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                  const float* convolved, const float* dt, float* out) const {
  SsmInput input;
  input.c = convolved;
  input.b = convolved + row_.q;
  input.x = convolved + row_.q + row_.k;
  input.stride = row_.convolved();
  input.dt = dt;
  input.dt_stride = row_.total();
  SsmScan scan;
  scan.heads = heads_.q.size();
  scan.head_dim = spec_.head_dim;
  scan.state_dim = spec_.state_dim;
  scan.group_of_head = group_of_head_;
  scan.a_log = weights_.decay_log.data();
  scan.dt_bias = weights_.decay_bias.data();
  scan.d = weights_.skip.data();
  runtime.backend.ssm_scan(input, batch.states, scan, cache.recurrence, out);
}

void Mamba2::mix(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
                 const float* x, float* gated) const {
  const int64_t rows = batch.rows();
  float* fused = runtime.workspace.floats(StepBuffer::qkv);
  runtime.backend.matmul(x, rows, weights_.in, nullptr, runtime.compute, fused);
  const float* convolved = convolve(runtime, batch, cache, weights_, row_, spec_.conv_width, fused);
  const float* gate = fused + row_.convolved();
  scan(runtime, batch, cache, convolved, gate + row_.gate, gated);
  runtime.backend.multiply_by_silu(gated, gate, rows, row_.v, row_.v, row_.total());
}

// Over the heads of each group. Where every group is whole on some rank, there is nothing to
// exchange.
void Mamba2::normalise(const Runtime& runtime, int64_t rows, float* gated) const {
  const int64_t d = spec_.head_dim;
  const int64_t shared = spec_.heads / spec_.groups;
  const HeadSums sums(runtime, rows, spec_.heads, d);
  sums.contribute(gated, heads_.q.size(), row_.v, heads_.q.begin);
  if (!groups_are_whole_) sums.exchange("sums of gated norms");
  for (int64_t group = heads_.kv.begin; group < heads_.kv.end; ++group) {
    const int64_t first = std::max(heads_.q.begin, group * shared);
    const int64_t last = std::min(heads_.q.end, (group + 1) * shared);
    const int64_t at = (first - heads_.q.begin) * d;
    sums.normalise(gated + at, last - first, row_.v, group * shared, shared,
                   weights_.norm.data() + at);
  }
}

void Mamba2::forward(const Runtime& runtime, const Batch& batch, RopeTables&,
                     const LayerCache& cache, const float* x, float* out) const {
  const int64_t rows = batch.rows();
  float* gated = runtime.workspace.floats(StepBuffer::attended);
  if (heads_.q.size() > 0) mix(runtime, batch, cache, x, gated);
  normalise(runtime, rows, gated);
  runtime.partial_product(gated, rows, weights_.out, out);
  runtime.reduce_partial(out, rows * runtime.spec.hidden, "Mamba-2 output");
}

}  // namespace dure
