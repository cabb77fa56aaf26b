// Every weight of a model: its name in the checkpoint, shape, and how it splits over ranks. The
// planner sums this list, the loader slices it, `dure inspect --weights` prints it: one list, one
// truth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"
#include "tensor/dtype.h"

namespace dure {

// What a weight does. Matrices are [outputs, inputs], as checkpoints store them.
enum class Part {
  embedding,       // [vocab, hidden]
  lm_head,         // [vocab, hidden]; absent when tied
  final_norm,      // [hidden]
  attention_norm,  // [hidden], before attention
  ffn_norm,        // [hidden], before the feed-forward part
  q,               // [heads * head_dim, hidden]
  k,               // [kv_heads * head_dim, hidden]
  v,
  o,  // [hidden, heads * head_dim]
  q_bias,
  k_bias,
  v_bias,
  o_bias,
  q_norm,  // [head_dim] or [heads * head_dim]
  k_norm,
  gate,  // [intermediate, hidden]; of an expert when `expert` >= 0
  up,
  down,  // [hidden, intermediate]
  gate_bias,
  up_bias,
  down_bias,
  router,       // [experts, hidden]
  shared_gate,  // the shared expert's matrices
  shared_up,
  shared_down,
  shared_router,  // [1, hidden]
};

// How it splits over the tensor-parallel ranks (over the ranks of one expert for expert matrices).
enum class Split {
  replicated,
  vocabulary,     // outputs, by vocabulary
  q_heads,        // outputs, in whole query heads
  kv_heads,       // outputs, in whole kv heads; replicated where ranks outnumber them
  q_heads_input,  // inputs, in whole query heads: partial sums
  columns,        // outputs
  rows,           // inputs: partial sums
};

struct Weight {
  std::string name;  // in the checkpoint
  Part part = Part::embedding;
  Split split = Split::replicated;
  int layer = -1;   // -1: outside the layers
  int expert = -1;  // -1: not of a routed expert
  DType dtype = DType::bf16;
  std::vector<int64_t> shape;

  int64_t elements() const;
  int64_t bytes() const { return elements() * bytes_of(dtype); }
  bool is_matrix() const { return shape.size() == 2; }
};

// In checkpoint order: embedding, layers, final norm, head. Types are spec.dtype.
std::vector<Weight> inventory(const ModelSpec& spec);

// Parameters that one token touches: all but the routed experts it is not sent to.
int64_t total_parameters(const ModelSpec& spec);
int64_t active_parameters(const ModelSpec& spec);

}  // namespace dure
