// A rank's weights as the layers use them: views of memory that the engine's loader fills. A matrix
// or vector that the model or the rank does not have is empty.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/packed_matrix.h"
#include "tensor/block_format.h"

namespace dure {

using Vector = std::span<const float>;

inline const float* data_or_null(Vector vector) {
  return vector.empty() ? nullptr : vector.data();
}

struct AttentionWeights {
  PackedMatrix qkv;  // outputs: the rank's q heads, then k, then v, then the output gate
  Vector qkv_bias;
  PackedMatrix o;
  Vector o_bias;
  Vector q_norm;
  Vector k_norm;
  Vector sinks;
};

struct LatentWeights {
  PackedMatrix q_a;
  Vector q_a_bias;
  Vector q_a_norm;
  PackedMatrix q_nope;
  PackedMatrix q_rope;
  PackedMatrix kv_a;
  Vector kv_a_bias;
  Vector kv_a_norm;
  std::vector<PackedMatrix> k_up;  // of the rank's heads
  std::vector<PackedMatrix> v_up;
  PackedMatrix o;
  Vector o_bias;
  PackedMatrix index_q;
  PackedMatrix index_k;
  Vector index_k_norm;
  Vector index_k_norm_bias;
  PackedMatrix index_weights;
};

// Of layers that keep a state: delta nets and Mamba-2.
struct StateWeights {
  PackedMatrix in;       // outputs: StateRow of cost/state_shape.h
  PackedMatrix decay_b;  // second matrices
  PackedMatrix gate_b;
  Vector conv;  // [taps, channels of q, k and v], the oldest first
  Vector conv_bias;
  Vector decay_bias;
  Vector decay_log;
  Vector skip;
  Vector norm;
  PackedMatrix out;
};

struct MlpWeights {
  PackedMatrix gate_up;  // up alone where there is no gate
  PackedMatrix down;
  Vector gate_bias;
  Vector up_bias;
  Vector down_bias;
};

struct MoeWeights {
  PackedMatrix router;
  Vector router_bias;
  Vector correction;
  std::vector<PackedMatrix> gate_up;  // the rank's experts, in order; as in MlpWeights
  std::vector<PackedMatrix> down;
  Vector gate_bias;  // [the rank's experts, their columns]
  Vector up_bias;
  Vector down_bias;  // [all experts, hidden]
  Vector router_scale;
  Vector expert_scale;  // [all experts]
  MlpWeights beside;    // a dense part beside the experts
  Vector after_beside_norm;
  Vector experts_norm;
  Vector after_experts_norm;
  MlpWeights shared;
  PackedMatrix shared_router;
};

struct LayerWeights {
  Vector attention_norm;
  Vector after_attention_norm;
  Vector ffn_norm;
  Vector after_ffn_norm;
  Vector output_scale;  // [1]
  AttentionWeights attention;
  LatentWeights latent;  // of latent attention, in place of `attention`
  StateWeights state;    // of a layer that keeps a state, in place of `attention`
  MlpWeights mlp;        // of a dense layer
  MoeWeights moe;
};

struct EmbeddingTable {
  const std::byte* rows = nullptr;  // [vocabulary of the rank, hidden]
  DType dtype = DType::bf16;
  std::optional<BlockFormat> blocks;  // of each row, in place of elements of `dtype`
};

struct RankWeights {
  EmbeddingTable embedding;
  std::vector<LayerWeights> layers;  // of the rank's stage, in order
  Vector final_norm;
  PackedMatrix head;
};

}  // namespace dure
