// Mamba-2 of one layer (Dao and Gu 2024, arXiv:2405.21060) with a gated norm over the heads of each
// group: a state for each head, which heads are split over tp. A group may be split with them.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/state_shape.h"
#include "layers/attention.h"

namespace dure {

class Mamba2 final : public Attention {
 public:
  Mamba2(const Runtime& runtime, const Mamba2Spec& spec, const StateWeights& weights);

  void forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
               const LayerCache& cache, const float* x, float* out) const override;

 private:
  // gated[rows, heads of the rank * head_dim]: the heads' outputs times their gates.
  void mix(const Runtime& runtime, const Batch& batch, const LayerCache& cache, const float* x,
           float* gated) const;
  void scan(const Runtime& runtime, const Batch& batch, const LayerCache& cache,
            const float* convolved, const float* dt, float* out) const;
  void normalise(const Runtime& runtime, int64_t rows, float* gated) const;

  const Mamba2Spec& spec_;
  const StateWeights& weights_;
  HeadShare heads_;
  StateRow row_;
  std::vector<int32_t> group_of_head_;
  bool groups_are_whole_ = true;  // on every tp rank
};

}  // namespace dure
