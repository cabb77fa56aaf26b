// A mixture-of-experts layer: router, experts wherever they live, and the shared expert if there is
// one.
#pragma once

#include <vector>

#include "layers/capacity.h"
#include "layers/expert_exchange.h"
#include "layers/runtime.h"
#include "layers/weights.h"

namespace dure {

// Of one layer on one rank, since it started.
struct ExpertCounts {
  std::vector<int64_t> computed;  // [local experts]: token slots
  SlotCounts slots;               // of its dp group
};

class Moe {
 public:
  Moe(const Runtime& runtime, const MoeFfn& spec, const MoeWeights& weights);

  const MoeFfn& spec() const { return spec_; }
  const ExpertCounts& counts() const { return counts_; }
  Range experts() const { return exchange_.experts(); }  // of this rank

  // out[rows, hidden], replicated over tp. x: [rows, hidden] (normed), overwritten; stream: [rows,
  // hidden], what x was made of, read where the layer normalises it in ways of its own. Every rank
  // of the stage takes part, also with no rows.
  void forward(const Runtime& runtime, const Batch& batch, const float* stream, float* x,
               float* out, RouteTrace* trace);

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
  ExpertCounts counts_;
};

}  // namespace dure
