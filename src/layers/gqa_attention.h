// Grouped-query attention of one layer over the paged cache, split by heads over tp.
#pragma once

#include "layers/attention.h"

namespace dure {

// What is the same for every step of a layer.
class GqaAttention final : public Attention {
 public:
  GqaAttention(const Runtime& runtime, const GqaSpec& spec, const AttentionWeights& weights);

  void forward(const Runtime& runtime, const Batch& batch, RopeTables& ropes,
               const LayerCache& cache, const float* x, float* out) const override;

 private:
  // Where the parts of a row lie in StepBuffer::qkv. Values that are keys have rows of their own
  // behind all others.
  struct Row {
    float* q;
    float* k;
    float* v;
    float* gate;
    int64_t stride;  // of all but v
    int64_t v_stride;
  };
  Row project(const Runtime& runtime, int64_t rows, const float* x) const;
  void make_values(const Runtime& runtime, int64_t rows, const Row& row) const;
  void normalise(const Runtime& runtime, int64_t rows, const Row& row) const;
  void normalise_heads(const Runtime& runtime, int64_t rows, const Row& row) const;
  void normalise_whole(const Runtime& runtime, int64_t rows, const Row& row) const;
  void sharpen(const Runtime& runtime, const Batch& batch, const Row& row) const;
  AttentionShape shape() const;

  const GqaSpec& spec_;
  const AttentionWeights& weights_;
  HeadShare heads_;
  Range kv_owned_;  // kv heads whose squares this rank contributes: each head is some rank's once
  std::vector<int32_t> kv_of_head_;
};

}  // namespace dure
