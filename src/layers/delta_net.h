// The gated delta rule of one layer (Gated DeltaNet, arXiv:2412.06464; with a decay for each
// channel of a key, Kimi Delta Attention, arXiv:2510.26692): a state for each head of values, which
// heads are split over tp.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/state_shape.h"
#include "layers/attention.h"

namespace dure {

class DeltaNet final : public Attention {
 public:
  DeltaNet(const Runtime& runtime, const DeltaNetSpec& spec, const StateWeights& weights);

  void forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
               const LayerCache& cache, const float* x, float* out) const override;

 private:
  // Numbers of each row that something else decides, `stride` apart.
  struct Rows {
    const float* data;
    int64_t stride;
  };
  // attended[rows, heads of the rank * value_dim]
  void mix(const Runtime& runtime, const Batch& batch, const LayerCache& cache, const float* x,
           float* attended) const;
  void recur(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
             const float* convolved, Rows beta, Rows decay, float* attended) const;

  const DeltaNetSpec& spec_;
  const StateWeights& weights_;
  HeadShare heads_;
  StateRow row_;
  std::vector<int32_t> key_of_head_;
};

}  // namespace dure
