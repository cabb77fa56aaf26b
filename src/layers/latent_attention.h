// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) over the cached latent
// rows themselves: queries are brought into the latent space of the keys, and what is attended is
// brought out of it for the values, so that keys and values of heads are never made. Heads are
// split over tp; the latent rows are every rank's.
//
// With an indexer a query sees only the keys that it chooses (DeepSeek-V3.2-Exp, section 2.1); the
// choice is every rank's own and the same, and stays in StepBuffer::selected for layers that reuse
// it.
#pragma once

#include "layers/attention.h"

namespace dure {

class LatentAttention final : public Attention {
 public:
  LatentAttention(const Runtime& runtime, const MlaSpec& spec, const LatentWeights& weights);

  void forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
               const LayerCache& cache, const float* x, float* out) const override;

 private:
  void write_cache(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                   const LayerCache& cache, const float* x) const;
  void write_index(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                   const LayerCache& cache, const float* x) const;
  // Chooses the keys of rows [first, first + rows) into StepBuffer::selected. q_a: their compressed
  // queries; index_q: floats for the index's own.
  void choose_keys(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                   const LayerCache& cache, int64_t first, int64_t rows, const float* x,
                   const float* q_a, float* index_q) const;
  // Rows [first, first + rows) of the batch: attended[rows, heads * v_dim].
  void attend(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
              const LayerCache& cache, int64_t first, int64_t rows, const float* x,
              float* attended) const;

  const MlaSpec& spec_;
  const LatentWeights& weights_;
  int64_t heads_;  // of this rank
};

}  // namespace dure
