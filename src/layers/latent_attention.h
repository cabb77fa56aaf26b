// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) over the cached latent
// rows themselves: queries are brought into the latent space of the keys, and what is attended is
// brought out of it for the values, so that keys and values of heads are never made. Heads are
// split over tp; the latent rows are every rank's.
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
  // Rows [first, first + rows) of the batch: attended[rows, heads * v_dim].
  void attend(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
              const LayerCache& cache, int64_t first, int64_t rows, const float* x,
              float* attended) const;

  const MlaSpec& spec_;
  const LatentWeights& weights_;
  int64_t heads_;  // of this rank
};

}  // namespace dure
