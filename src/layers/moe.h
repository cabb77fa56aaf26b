// A mixture-of-experts layer: router, experts wherever they live, and the shared expert if there is
// one.
#pragma once

#include "layers/capacity.h"
#include "layers/expert_exchange.h"
#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

// Of a rank, since it started.
struct ExpertCounts {
  int64_t computed_rows = 0;
  SlotCounts slots;  // of its dp group, in the layers of its stage
};

class Moe {
 public:
  Moe(const Runtime& runtime, const MoeFfn& spec, const MoeWeights& weights);

  const MoeFfn& spec() const { return spec_; }

  // out[rows, hidden], replicated over tp. x: [rows, hidden] (normed), overwritten; stream: [rows,
  // hidden], what x was made of, read where the layer normalises it in ways of its own. Adds the
  // token slots that each expert got from this dp group to expert_tokens[experts] and what else is
  // counted to *counts. Every rank of the stage takes part, also with no rows.
  void forward(const Runtime& runtime, const Batch& batch, const float* stream, float* x,
               float* out, std::span<int64_t> expert_tokens, ExpertCounts* counts,
               RouteTrace* trace) const;

 private:
  SlotCounts route(const Runtime& runtime, const float* x, int64_t rows, int32_t* ids,
                   float* weights) const;
  // Where experts take a bounded number of slots of a step and dp group.
  SlotCounts bound_slots(const Runtime& runtime, const float* logits, int64_t rows, int32_t* ids,
                         float* weights) const;
  // results: [work, hidden]
  void compute_experts(const Runtime& runtime, const Dispatched& work, float* results) const;
  // Into out[rows, hidden]: what the router reads of the stream.
  void make_router_input(const Runtime& runtime, const float* stream, int64_t rows,
                         float* out) const;
  // Both into StepBuffer::shared.
  void compute_beside(const Runtime& runtime, const float* x, int64_t rows) const;
  void compute_shared(const Runtime& runtime, const float* x, int64_t rows) const;

  const MoeFfn& spec_;
  const MoeWeights& weights_;
  ExpertExchange exchange_;
};

}  // namespace dure
