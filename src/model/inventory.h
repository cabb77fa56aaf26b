// Every weight of a model: its name in the checkpoint, shape, and how it splits over ranks. The
// planner sums this list, the loader slices it, `dure inspect --weights` prints it: one list, one
// truth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/spec.h"
#include "tensor/block_rows.h"
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
  after_attention_norm,  // [hidden]
  after_ffn_norm,
  sinks,        // [heads]
  output_gate,  // [heads * v_head_dim, hidden]: of attention's output
  // Latent attention. q of MlaSpec in two matrices, read from the hidden state or, compressed, from
  // q_a's outputs.
  q_a,  // [q_rank, hidden]
  q_a_bias,
  q_a_norm,  // [q_rank]
  q_nope,    // [heads * nope_dim, q_rank or hidden]
  q_rope,    // [heads * rope_dim, q_rank or hidden]
  kv_a,      // [kv_rank + rope_dim, hidden]
  kv_a_bias,
  kv_a_norm,  // [kv_rank]
  k_up,       // of one head: [kv_rank, nope_dim], from q into the latent space
  v_up,       // of one head: [v_dim, kv_rank], out of it
  // The indexer of sparse attention.
  index_q,       // [heads * head_dim, q_rank], or of hidden
  index_k,       // [head_dim, hidden]
  index_k_norm,  // [head_dim]
  index_k_norm_bias,
  index_weights,  // [heads, hidden]
  index_q_norm,   // [head_dim]
  gate,           // [intermediate, hidden]; of an expert when `expert` >= 0
  up,
  down,  // [hidden, intermediate]
  gate_bias,
  up_bias,
  down_bias,
  router,       // [experts, hidden]
  router_bias,  // [experts]
  router_correction,
  expert_down_bias,  // [experts, hidden]: added where the experts' outputs meet, on every rank
  shared_gate,       // the shared expert's matrices
  shared_up,
  shared_down,
  shared_router,  // [1, hidden]
  // A delta net's: rows in heads of v, or in heads of keys; a Mamba-2 layer's B, C, x, z and dt are
  // its k, q, v, gate and decay.
  state_q,           // [key_heads * key_dim, hidden]
  state_k,           // the same
  state_v,           // [heads * value_dim, hidden]
  state_gate,        // [heads * value_dim, hidden]
  state_beta,        // [heads, hidden]
  state_decay,       // [heads, hidden]
  state_decay_a,     // [decay_rank, hidden]: decays made by two matrices
  state_decay_b,     // [heads * key_dim, decay_rank]
  state_gate_a,      // [gate_rank, hidden]: a gate made by two matrices
  state_gate_b,      // [heads * value_dim, gate_rank]
  state_decay_bias,  // [heads], or [heads * key_dim]
  state_decay_log,   // [heads]
  state_skip,        // [heads]
  state_conv_q,      // [key_heads * key_dim, conv_width]
  state_conv_k,
  state_conv_v,
  state_conv_bias_q,  // [key_heads * key_dim]
  state_conv_bias_k,
  state_conv_bias_v,
  state_norm,   // [value_dim], or [heads * value_dim]
  state_out,    // [hidden, heads * value_dim]
  beside_gate,  // a dense part beside experts, as gate, up and down
  beside_up,
  beside_down,
  after_beside_norm,
  experts_norm,
  after_experts_norm,
  router_scale,  // [hidden]
  expert_scale,  // [experts]
  layer_scale,   // [1]
  // What only models that are planned have.
  o_a,  // [o_groups * o_rank, heads * head_dim / o_groups]: compressed attention's first output
  compressor,  // of compressed keys
  latent_in,   // [latent width, hidden], of experts that work in a narrower space
  latent_out,
  latent_norm,
  expert_table,  // [vocab, top_k]: the experts of each token
  stream_mix,    // how a part reads and writes several streams
};

// How it splits over the tensor-parallel ranks (over the ranks of one expert for expert matrices).
enum class Split {
  replicated,
  vocabulary,     // outputs, by vocabulary
  q_heads,        // outputs, in whole query heads
  kv_heads,       // outputs, in whole kv heads; replicated where ranks outnumber them
  q_heads_input,  // inputs, in whole query heads: partial sums
  one_head,       // whole, on the rank that holds query head `head`
  columns,        // outputs
  rows,           // inputs: partial sums
};

// Where a weight lies in the tensor that holds it, in elements: output o, input i at offset +
// o / block_rows * block_stride + o % block_rows * row_stride + i * column_stride.
struct WeightView {
  int64_t offset = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  int64_t block_rows = 0;  // 0: all in one block
  int64_t block_stride = 0;

  int64_t row(int64_t output) const {
    if (block_rows == 0) return offset + output * row_stride;
    return offset + output / block_rows * block_stride + output % block_rows * row_stride;
  }
};

struct Weight {
  std::string name;  // of the tensor in the checkpoint, which may hold others too
  Part part = Part::embedding;
  Split split = Split::replicated;
  int layer = -1;   // -1: outside the layers
  int expert = -1;  // -1: not of a routed expert
  int head = -1;    // -1: not of one head
  // What its numbers are exact in: the type of the elements in the file, or, of blocks, f32.
  DType dtype = DType::bf16;
  std::optional<BlockFormat> blocks = {};  // in the file, along the inputs of its tensor
  std::optional<RowScales> scales = {};    // of codes: as memory may keep them
  std::vector<int64_t> shape;              // [outputs, inputs] or [outputs]
  std::vector<int64_t> tensor_shape;       // of the tensor in the checkpoint
  WeightView view;
  bool plus_one = false;  // one is added to what is stored

  int64_t elements() const;
  // As stored; of parts of blocks their share, of codes without scales.
  int64_t bytes_of_elements(int64_t count) const;
  int64_t bytes() const;  // with scales
  bool is_matrix() const { return shape.size() == 2; }
  // Whether its rows are whole blocks, or rows of codes, so that they can be kept as these.
  bool rows_of_blocks() const;
  // Whether its outputs are rows of the tensor that follow each other, from a multiple of `rows`.
  bool follows_rows(int64_t rows) const;
};

// In checkpoint order: embedding, layers, final norm, head. Types are spec.dtype, but fp32 for a
// router's correction.
std::vector<Weight> inventory(const ModelSpec& spec);
// Of layers that are equal only the first's: all that sums over layers need, in far less time.
std::vector<Weight> inventory_of_kinds(const ModelSpec& spec);

// Parameters that one token touches: all but the routed experts it is not sent to.
int64_t total_parameters(const ModelSpec& spec);
int64_t active_parameters(const ModelSpec& spec);

}  // namespace dure
