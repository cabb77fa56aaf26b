// What a model is, as data: one decoder runs any list of layers, each an attention kind and a
// feed-forward kind with their options. Made from a checkpoint's config.json by one small file per
// architecture; nothing below this header asks for an architecture's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/release_formats.h"
#include "model/weight_names.h"
#include "tensor/dtype.h"

namespace dure {

// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) and its context extensions.
enum class RopeKind {
  none,  // positions are not told
  plain,
  linear,        // positions divided by `factor`
  llama3,        // wavelength bands (Llama 3.1)
  yarn,          // Peng et al. 2023, arXiv:2309.00071
  longrope,      // a divisor for each pair, of short and of long sequences (arXiv:2402.13753)
  divided,       // a divisor for each pair, whatever the length
  proportional,  // frequencies of a whole head, of which only the first `turning` pairs turn
};

struct RopeSpec {
  RopeKind kind = RopeKind::plain;
  int64_t dims = 0;          // rotated dimensions of a head, the first `dims`
  bool interleaved = false;  // pairs (2i, 2i + 1) instead of (i, i + dims / 2)
  double theta = 10000.0;
  double factor = 1.0;
  int64_t original_context = 0;  // tokens; llama3, yarn, longrope
  double low_freq_factor = 1.0;  // llama3
  double high_freq_factor = 4.0;
  double beta_fast = 32.0;  // yarn
  double beta_slow = 1.0;
  bool truncate = true;                    // yarn: correction range rounded to whole dimensions
  int64_t turning = 0;                     // proportional
  std::vector<double> short_factors = {};  // longrope: [dims / 2], up to original_context tokens
  std::vector<double> long_factors = {};   // longrope: beyond
  std::vector<double> divisors = {};       // divided: [dims / 2]
  double attention_factor = 1.0;           // multiplies cos and sin
  bool operator==(const RopeSpec&) const = default;
};

// q and k normalised.
enum class QkNorm {
  none,
  per_head,    // over each head (Qwen3)
  whole,       // over the whole projection (OLMoE)
  weightless,  // over each head, without weights (Llama 4)
};

// Queries at far positions sharpened: q *= 1 + log(floor((position + 1) / floor_scale) + 1) * scale
// (Llama 4, layers without rotation).
struct TemperatureTuning {
  double floor_scale = 8192.0;
  double scale = 0.1;
  bool operator==(const TemperatureTuning&) const = default;
};

// Which blocks of keys the queries of each kv head see: the top_k by their best key, q·k
// (MiniMax-M3), and always the last one.
struct BlockIndexerSpec {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t block = 0;  // tokens
  int64_t top_k = 0;  // blocks
  bool operator==(const BlockIndexerSpec&) const = default;
};

// Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245); kv_heads = heads is multi-head,
// kv_heads = 1 multi-query.
struct GqaSpec {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;    // of q and k
  int64_t v_head_dim = 0;  // of v
  bool qkv_bias = false;
  bool o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool norm_after_rope = false;
  std::optional<int64_t> window;  // a query sees this many keys, its own included
  std::optional<int64_t> chunk;   // a query sees the keys of its own chunk of positions only
  bool sinks = false;             // one more logit of the softmax for each head (gpt-oss)
  double softcap = 0.0;           // scores = softcap * tanh(scores / softcap); 0: not
  double scale = 0.0;             // multiplies q·k
  double value_scale = 1.0;       // multiplies v (MiMo)
  std::optional<TemperatureTuning> temperature;
  bool output_gate = false;      // output times sigmoid of a projection as wide (Qwen3-Next)
  bool values_are_keys = false;  // v is k's projection, normalised without weights (Gemma 4)
  bool v_norm = false;           // v normalised over each head, without weights (Gemma 4)
  RopeSpec rope;
  std::optional<BlockIndexerSpec> block_indexer = {};
  bool operator==(const GqaSpec&) const = default;
};

// Which keys a query of sparse attention sees: the top_k by sum over heads of w * relu(q·k)
// (DeepSeek-V3.2-Exp).
struct IndexerSpec {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t top_k = 0;
  bool reuse = false;  // the choice of the layer before; no indexer of its own
  RopeSpec rope;       // of the first `rope.dims` of a head
  bool operator==(const IndexerSpec&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values of all heads come
// from one cached vector of kv_rank and one rotated key of rope_dim.
struct MlaSpec {
  int64_t heads = 0;
  std::optional<int64_t> q_rank;  // queries compressed first
  int64_t kv_rank = 0;
  int64_t nope_dim = 0;  // of a head's q and k, not rotated
  int64_t rope_dim = 0;  // and rotated
  int64_t v_dim = 0;
  bool bias = false;         // of the compressing projections and of o
  double scale = 0.0;        // multiplies q·k
  double norm_eps = 1e-6;    // of the compressed vectors' norms: the releases' code fixes it
  bool output_gate = false;  // output times sigmoid of a projection as wide (Kimi K3)
  RopeSpec rope;             // dims = rope_dim
  std::optional<IndexerSpec> indexer;
  // Null where there is none, or where the choice of the layer before is reused.
  const IndexerSpec* own_indexer() const {
    return indexer && !indexer->reuse ? &*indexer : nullptr;
  }
  bool operator==(const MlaSpec&) const = default;
};

// The gated delta rule (Yang et al. 2024, arXiv:2412.06464): each head keeps a state of key_dim by
// value_dim, which decays, and into which each token writes what its key does not yet hold. q and k
// are shared by heads / key_heads heads.
struct DeltaNetSpec {
  int64_t heads = 0;  // of v and of the state
  int64_t key_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t conv_width = 0;  // of the causal convolution of each channel of q, k and v
  // Two matrices of this rank make a decay for each channel of k (Kimi Linear, arXiv:2510.26692);
  // otherwise one matrix makes one for each head.
  std::optional<int64_t> decay_rank;
  double decay_bound = 0.0;          // below 0: the log of a decay is never lower
  std::optional<int64_t> gate_rank;  // of the output's gate; otherwise one matrix
  bool sigmoid_gate = false;         // the gate is a sigmoid; otherwise silu
  bool operator==(const DeltaNetSpec&) const = default;
};

// Mamba-2 (Dao and Gu 2024, arXiv:2405.21060): each head keeps a state of state_dim by head_dim; B
// and C are shared by heads / groups heads.
struct Mamba2Spec {
  int64_t heads = 0;
  int64_t groups = 0;
  int64_t head_dim = 0;
  int64_t state_dim = 0;
  int64_t conv_width = 0;
  bool conv_bias = false;
  bool operator==(const Mamba2Spec&) const = default;
};

// DeepSeek-V4: one head of keys that are values too; a query sees a window of them, and beside it
// keys of which each stands for `ratio` tokens, all or the top ones by an indexer.
struct CompressedSpec {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rope_dim = 0;
  int64_t q_rank = 0;
  int64_t o_groups = 0;  // the output's first matrix is one for each group of heads
  int64_t o_rank = 0;    // outputs of each
  int64_t window = 0;
  int64_t ratio = 0;     // 0: no compressed keys
  bool overlap = false;  // each compressed key is made of two neighbouring runs of tokens
  std::optional<IndexerSpec> indexer;
  RopeSpec rope;
  bool operator==(const CompressedSpec&) const = default;
};

enum class Activation {
  silu,           // act(gate) * up
  gelu_tanh,      // the same with GELU's tanh approximation
  clamped_swish,  // gate, up clamped to a limit: gate * sigmoid(alpha gate) * (up + 1) (gpt-oss)
  clamped_silu,   // gate, up clamped to a limit, then silu (DeepSeek-V4)
  situ,           // alpha tanh(gate / alpha) * sigmoid(gate) * up, up bounded too (Kimi K3)
  relu_squared,   // max(up, 0)^2, without a gate (Nemotron-H)
};

struct ActivationSpec {
  Activation kind = Activation::silu;
  double alpha = 1.702;  // clamped_swish, situ
  double limit = 7.0;    // clamped_swish, clamped_silu, situ
  bool has_gate() const { return kind != Activation::relu_squared; }
  bool operator==(const ActivationSpec&) const = default;
};

// down(act(gate(x)) * up(x))
struct DenseFfn {
  int64_t intermediate = 0;
  ActivationSpec activation = {};
  bool bias = false;
  bool operator==(const DenseFfn&) const = default;
};

enum class RouterScore { softmax, sigmoid, sqrt_softplus };

// Experts in equal groups of which only the best may be chosen from (DeepSeek-V2, V3).
struct RouterGroups {
  int64_t count = 1;
  int64_t kept = 1;
  bool by_best_two = false;  // ranked by the sum of their two best; otherwise by their best
  bool operator==(const RouterGroups&) const = default;
};

// The scores of all experts, then the top k of them, whose weights are their scores.
struct RouterSpec {
  RouterScore score = RouterScore::softmax;
  bool bias = false;        // of the router's projection
  bool correction = false;  // a bias per expert that decides the choice, not the weights
  RouterGroups groups = {};
  bool normalize = false;     // weights divided by their sum
  double epsilon = 0.0;       // added to that sum
  double scale = 1.0;         // of the weights
  bool scales_input = false;  // weights multiply the experts' inputs, not their outputs (Llama 4)
  bool input_norm = false;    // reads the stream, normalised and scaled by weights (Gemma 4)
  bool expert_scale = false;  // weights times one stored number of each expert (Gemma 4)
  bool by_token = false;      // experts are looked up by the token's id (DeepSeek-V4)
  bool operator==(const RouterSpec&) const = default;
};

struct SharedExpert {
  int64_t intermediate = 0;
  bool gated = false;  // its output times sigmoid of one more router row (Qwen2-MoE)
  bool operator==(const SharedExpert&) const = default;
};

// Experts that work in a narrower space, which one matrix leads into and another out of.
struct LatentExperts {
  int64_t width = 0;
  bool norm = false;  // of the experts' sum, on the way out
  bool operator==(const LatentExperts&) const = default;
};

struct MoeFfn {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t intermediate = 0;  // of one expert
  ActivationSpec activation = {};
  bool bias = false;  // of the experts' matrices
  RouterSpec router;
  std::optional<SharedExpert> shared;
  std::optional<LatentExperts> latent = {};
  // A dense part beside the experts; both have norms of their own before the sum's (Gemma 4).
  std::optional<DenseFfn> beside = {};
  bool operator==(const MoeFfn&) const = default;
};

// What mixes tokens. std::monostate: a layer that has none.
using AttentionSpec =
    std::variant<GqaSpec, MlaSpec, DeltaNetSpec, Mamba2Spec, CompressedSpec, std::monostate>;

// 1 where there are none.
int64_t query_heads(const AttentionSpec& attention);
// Heads that the cache or state consists of: ranks beyond them hold copies. A latent vector counts
// as one.
int64_t kv_heads(const AttentionSpec& attention);
std::optional<int64_t> window_of(const AttentionSpec& attention);

// std::monostate: a layer that has none.
using FfnSpec = std::variant<DenseFfn, MoeFfn, std::monostate>;

struct LayerSpec {
  AttentionSpec attention;
  FfnSpec ffn;
  bool output_scale = false;  // the stream after the layer times one stored number (Gemma 4)
  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::string family;  // config.json's model_type
  int64_t hidden = 0;
  int64_t vocab = 0;
  int64_t context = 0;  // tokens the config promises (max_position_embeddings)
  double norm_eps = 1e-6;
  bool norms_plus_one = false;  // norm weights are stored minus one (Gemma)
  bool norms_after = false;     // the output of attention and of ffn is normalised too (Gemma)
  double embedding_scale = 1.0;
  double residual_scale = 1.0;  // of what attention and ffn add to the stream (Granite)
  // Copies of the stream that each part reads and writes through small matrices (hyper-connections,
  // arXiv:2409.19606).
  int64_t streams = 1;
  // Each part reads a weighted sum of the streams after each run of so many layers (Kimi K3); 0:
  // no.
  int64_t residual_block = 0;
  double logit_scale = 1.0;
  double logit_softcap = 0.0;  // logits = softcap * tanh(logits / softcap); 0: not
  bool tied_embeddings = false;
  DType dtype = DType::bf16;  // as config.json states it; each tensor's own type is in its file
  std::vector<LayerSpec> layers;
  // Layers after the last that only draft tokens (multi-token prediction); recognised, not loaded.
  int64_t draft_layers = 0;
  WeightNames names;
  std::vector<int64_t> eos_ids;  // config.json and generation_config.json together
  // The quantization method that the checkpoint names ("fp8", "awq"); empty: none. Such models are
  // counted as if unquantized here; bind_inventory refuses them.
  std::string quantization;
  ReleaseFormats release;  // what it says of each matrix; `dtype` is that of the others
  // Outputs and inputs of a matrix's blocks that share one scale; nothing where they are not
  // blocks.
  std::vector<int64_t> scale_block;
  // Of an image encoder beside the language model, by its config: planned, not loaded.
  int64_t vision_parameters = 0;
  // Why the engine does not run this model; empty: it does. Such models are planned only.
  std::string planned_only;
};

// A sequence that grows beyond this many tokens rotates all its positions another way and has to be
// computed anew; 0: none does. Smallest of the layers'.
int64_t recompute_beyond(const ModelSpec& spec);

}  // namespace dure
