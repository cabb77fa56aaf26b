// The decoder of one pipeline stage: embedding (first stage), the stage's layers, final norm and
// head (last stage). Runs any ModelSpec; knows no family.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kv_cache.h"
#include "layers/attention.h"
#include "layers/moe.h"
#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

class Stage {
 public:
  Stage(const Runtime& runtime, const RankWeights& weights, const KvCache& cache);

  // The batch's rows through this stage: takes the residual stream from the stage before (or the
  // embedding), leaves it in StepBuffer::hidden and, unless this is the last stage, sends it on.
  // With `traces`, one entry a MoE layer of the stage is appended.
  void forward(const Batch& batch, std::vector<RouteTrace>* traces);

  // Last stage: the final hidden rows `rows` of the batch, as logits[rows, vocab], in rounds of at
  // most logit_rows; `use(first of rows, count, logits)` sees each round on every tp rank.
  template <class Use>
  void logits(const std::vector<int64_t>& rows, const Use& use) {
    for (size_t first = 0; first < rows.size(); first += static_cast<size_t>(logit_rows)) {
      const auto count = std::min(rows.size() - first, static_cast<size_t>(logit_rows));
      const float* all = compute_logits(rows.data() + first, static_cast<int64_t>(count));
      use(first, count, all);
    }
  }

  // What the MoE layers of this stage counted.
  struct MoeCounts {
    int64_t layer = 0;  // of the model
    Range experts;      // of this rank
    const ExpertCounts& counts;
  };
  std::vector<MoeCounts> moe_counts() const;

 private:
  void embed(const Batch& batch);
  // Adds what attention or ffn made to the stream, scaled, and normalised first with `after`.
  void add_to_stream(int64_t rows, float* out, const Vector& after);
  // The bits of StepBuffer::selected that the batch has.
  std::span<float> chosen_keys(const Batch& batch) const;
  const float* compute_logits(const int64_t* rows, int64_t count);

  struct Layer {
    std::unique_ptr<Attention> attention;  // null: none
    const DenseFfn* dense = nullptr;       // or
    std::unique_ptr<Moe> moe;              // or neither
  };

  const Runtime& runtime_;
  const RankWeights& weights_;
  const KvCache& cache_;
  std::vector<Layer> layers_;
};

}  // namespace dure
