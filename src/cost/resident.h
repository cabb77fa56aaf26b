// How a rank's weights lie in its memory: which packed matrices, tables and vectors it builds from
// which slices of the inventory. The loader builds exactly this list; the planner sums its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/shard.h"
#include "tensor/block_format.h"
#include "tensor/dtype.h"

namespace dure {

// Which tensor of the decoder it is. Neighbours that read the same input are one matrix.
enum class Slot {
  embedding,  // row-major table, stored type
  head,       // packed; of tied checkpoints too (read from the embedding)
  final_norm,
  attention_norm,
  ffn_norm,
  qkv,
  qkv_bias,
  o,
  o_bias,
  q_norm,
  k_norm,
  after_attention_norm,
  after_ffn_norm,
  sinks,
  q_a,  // latent attention
  q_a_bias,
  q_a_norm,
  q_nope,
  q_rope,
  kv_a,
  kv_a_bias,
  kv_a_norm,
  k_up,  // of one head
  v_up,
  index_q,
  index_k,
  index_k_norm,
  index_k_norm_bias,
  index_weights,
  state_in,  // layers that keep a state: q, k, v, gate, beta, decay and first matrices of the
             // latter
  state_decay_b,
  state_gate_b,
  state_conv,  // q, k, v
  state_conv_bias,
  state_decay_bias,
  state_decay_log,
  state_skip,
  state_norm,
  state_out,
  gate_up,  // up alone where experts have no gate
  gate_bias,
  up_bias,
  down,
  down_bias,
  router,
  router_bias,
  router_correction,
  expert_gate_up,
  expert_down,
  expert_gate_bias,
  expert_up_bias,
  expert_down_bias,  // of all experts: it is added where their outputs meet
  shared_gate_up,
  shared_down,
  shared_router,
  beside_gate_up,  // a dense part beside experts
  beside_down,
  after_beside_norm,
  experts_norm,
  after_experts_norm,
  router_scale,
  expert_scale,
  layer_scale,
  planned_only,  // one weight of a kind that is not run yet
};

enum class Form {
  packed,  // PackedMatrix of `shape`, or, where all of it is, in the file's blocks
  table,   // rows [outputs][inputs] of `dtype`, or in blocks, as in the file
  vector,  // fp32, whatever the file holds
  turned,  // the same of matrices, [inputs][outputs]
};

struct ResidentPiece {
  const Weight* weight = nullptr;
  WeightSlice slice;
};

struct Resident {
  Slot slot = Slot::embedding;
  int layer = -1;
  int expert = -1;  // global number
  int head = -1;    // of the model
  Form form = Form::packed;
  PackedShape shape;                  // of Form::packed
  DType dtype = DType::f32;           // of Form::table
  std::optional<BlockFormat> blocks;  // of Form::table: kept in the file's blocks
  std::vector<ResidentPiece> pieces;  // stacked along the outputs, in order
  // Not -1: its bytes are those of another one of the list, a head's of the embedding that it is
  // tied to where both are kept in the same blocks.
  int64_t same_as = -1;

  int64_t elements() const;
  int64_t bytes() const;    // in memory, padding included; 0 where they are another's
  int64_t payload() const;  // without padding
};

// In which numbers a rank computes and keeps its matrices.
struct Arithmetic {
  Compute compute = Compute::bf16;
  // Of matrices that are made integer codes while loading: those that multiply activations, the
  // head too. Not routers and indexers, whose small differences choose, nor matrices of fewer
  // inputs than quantized_inputs. Embeddings and vectors are no matrices of products.
  CodeFormat quantize = CodeFormat::none;

  // Not explicit: most know of no codes.
  Arithmetic(Compute computed, CodeFormat quantized = CodeFormat::none)
      : compute(computed), quantize(quantized) {}
};
inline constexpr int64_t quantized_inputs = 64;  // of the whole model's matrix

// In loading order. `weights` must outlive the result.
std::vector<Resident> resident_weights(const std::vector<Weight>& weights, const ModelSpec& spec,
                                       const Layout& layout, const RankShare& share,
                                       Arithmetic arithmetic);

}  // namespace dure
