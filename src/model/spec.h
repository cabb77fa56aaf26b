// What a model is, as data: one decoder runs any list of layers, each an attention kind and a
// feed-forward kind with their options. Made from a checkpoint's config.json by one small file per
// architecture; nothing below this header asks for an architecture's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace dure {

// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) and its context extensions.
enum class RopeKind {
  plain,
  linear,  // positions divided by `factor`
  llama3,  // wavelength bands (Llama 3.1)
  yarn,    // Peng et al. 2023, arXiv:2309.00071
};

struct RopeSpec {
  RopeKind kind = RopeKind::plain;
  int64_t dims = 0;  // rotated dimensions of a head, the first `dims`
  double theta = 10000.0;
  double factor = 1.0;
  int64_t original_context = 0;  // tokens; llama3 and yarn
  double low_freq_factor = 1.0;  // llama3
  double high_freq_factor = 4.0;
  double beta_fast = 32.0;  // yarn
  double beta_slow = 1.0;
  bool truncate = true;           // yarn: correction range rounded to whole dimensions
  double attention_factor = 1.0;  // multiplies cos and sin
  bool operator==(const RopeSpec&) const = default;
};

// q and k normalised before the rotation.
enum class QkNorm {
  none,
  per_head,  // over each head (Qwen3)
  whole,     // over the whole projection (OLMoE)
};

// Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245); kv_heads = heads is multi-head,
// kv_heads = 1 multi-query.
struct GqaSpec {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool qkv_bias = false;
  bool o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  std::optional<int64_t> window;  // a query sees this many keys, its own included
  double scale = 0.0;             // multiplies q·k
  RopeSpec rope;
  bool operator==(const GqaSpec&) const = default;
};

enum class Activation { silu };

// down(act(gate(x)) * up(x))
struct DenseFfn {
  int64_t intermediate = 0;
  Activation activation = Activation::silu;
  bool bias = false;
  bool operator==(const DenseFfn&) const = default;
};

struct RouterSpec {
  // Softmax over all experts, then the top k; `normalize` divides their weights by their sum.
  bool normalize = false;
  bool operator==(const RouterSpec&) const = default;
};

struct SharedExpert {
  int64_t intermediate = 0;
  bool gated = false;  // its output times sigmoid of one more router row (Qwen2-MoE)
  bool operator==(const SharedExpert&) const = default;
};

struct MoeFfn {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t intermediate = 0;  // of one expert
  Activation activation = Activation::silu;
  RouterSpec router;
  std::optional<SharedExpert> shared;
  bool operator==(const MoeFfn&) const = default;
};

using AttentionSpec = std::variant<GqaSpec>;
using FfnSpec = std::variant<DenseFfn, MoeFfn>;

struct LayerSpec {
  AttentionSpec attention;
  FfnSpec ffn;
  bool operator==(const LayerSpec&) const = default;
};

// How a checkpoint spells its tensors, where families differ.
struct WeightNames {
  std::string moe_block = "mlp";        // model.layers.N.<moe_block>.gate.weight
  std::string gate_proj = "gate_proj";  // inside one expert
  std::string up_proj = "up_proj";
  std::string down_proj = "down_proj";
};

struct ModelSpec {
  std::string family;  // config.json's model_type
  int64_t hidden = 0;
  int64_t vocab = 0;
  int64_t context = 0;  // tokens the config promises (max_position_embeddings)
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  DType dtype = DType::bf16;  // as config.json states it; each tensor's own type is in its file
  std::vector<LayerSpec> layers;
  WeightNames names;
  std::vector<int64_t> eos_ids;  // config.json and generation_config.json together
  // The quantization method that the checkpoint names ("fp8", "awq"); empty: none. Such models are
  // counted as if unquantized here; bind_inventory refuses them.
  std::string quantization;
};

}  // namespace dure
