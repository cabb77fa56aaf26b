// A rank's weights as the layers use them. Filled by the engine's loader; a matrix or vector that
// the model or the rank does not have is empty.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/packed_matrix.h"

namespace dure {

using Vector = std::vector<float>;

struct AttentionWeights {
  PackedMatrix qkv;  // outputs: the rank's q heads, then k, then v
  Vector qkv_bias;
  PackedMatrix o;
  Vector o_bias;
  Vector q_norm;
  Vector k_norm;
};

struct MlpWeights {
  PackedMatrix gate_up;
  PackedMatrix down;
  Vector gate_bias;
  Vector up_bias;
  Vector down_bias;
};

struct MoeWeights {
  PackedMatrix router;
  std::vector<PackedMatrix> gate_up;  // the rank's experts, in order
  std::vector<PackedMatrix> down;
  MlpWeights shared;
  PackedMatrix shared_router;
};

struct LayerWeights {
  Vector attention_norm;
  Vector ffn_norm;
  AttentionWeights attention;
  MlpWeights mlp;  // of a dense layer
  MoeWeights moe;
};

struct EmbeddingTable {
  AlignedBuffer rows;  // [vocabulary of the rank, hidden]
  DType dtype = DType::bf16;
};

struct RankWeights {
  EmbeddingTable embedding;
  std::vector<LayerWeights> layers;  // of the rank's stage, in order
  Vector final_norm;
  PackedMatrix head;
};

}  // namespace dure
