// Grouped-query attention of one layer over the paged cache, split by heads over tp.
#pragma once

#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

// What is the same for every step of a layer.
class Attention {
 public:
  Attention(const Runtime& runtime, const GqaSpec& spec, const AttentionWeights& weights);

  const GqaSpec& spec() const { return spec_; }
  int64_t kv_heads() const { return heads_.kv.size(); }  // held by this rank

  // out[rows, hidden] = the attention output of x[rows, hidden] (normed), replicated over tp.
  // Writes the rows' keys and values into `cache`. `rope` has one row per batch row.
  void forward(const Runtime& runtime, const Batch& batch, const RopeTable& rope,
               const KvLayer& cache, const float* x, float* out) const;

 private:
  void normalise_whole(const Runtime& runtime, int64_t rows, float* qkv) const;

  const GqaSpec& spec_;
  const AttentionWeights& weights_;
  HeadShare heads_;
  Range kv_owned_;  // kv heads whose squares this rank contributes: each head is some rank's once
  std::vector<int32_t> kv_of_head_;
};

}  // namespace dure
