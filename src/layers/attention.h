// One layer's sequence mixing on a rank, whatever its kind.
#pragma once

#include <memory>

#include "layers/rope_table.h"
#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

// What one layer caches on this rank: the views that its kind of attention has, the others empty.
struct LayerCache {
  size_t table = 0;  // of the pages; see Batch
  KvLayer kv;
  LatentLayer latent;
  StateLayer recurrence;  // of slots, not pages
  StateLayer convolution;
  LatentLayer index;  // keys of an indexer
};

class Attention {
 public:
  virtual ~Attention() = default;

  // out[rows, hidden] = the attention output of x[rows, hidden] (normed), replicated over tp.
  // Writes what the rows add to `cache`.
  virtual void forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
                       const LayerCache& cache, const float* x, float* out) const = 0;
};

// Null for a layer without.
std::unique_ptr<Attention> make_attention(const Runtime& runtime, const AttentionSpec& spec,
                                          const LayerWeights& weights);

}  // namespace dure
