// The operations a device must offer; a new backend implements these and nothing else. Buffers are
// plain pointers into the backend's memory, row-major. Activations are fp32 between operations.
//
// Every operation treats rows on their own: a token's row is computed by the same sequence of
// floating-point operations whatever other rows are in the call, so batch composition changes no
// bit. Calls are split over the backend's threads; how many there are changes no bit either. One
// caller at a time. Kernels never throw: sizes were checked by the caller.
//
// Orders of sums are stated in kernels/sum_order.h. In fp32 all instruction sets give the same
// bits, the reference too but for exp, tanh and log1p; Compute::bf16 differs where there is
// AVX512_BF16, whose vdpbf16ps rounds in its own way and takes numbers below 2^-126 for zero.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/packed_matrix.h"
#include "kernels/sample.h"
#include "tensor/dtype.h"

namespace dure {

// Token rows of a call sorted by expert: rows [begin[e], begin[e+1]) of the output belong to expert
// e and read input row source[row].
struct ExpertRows {
  std::span<const int32_t> source;  // [rows]
  std::span<const int32_t> begin;   // [experts + 1]
};

// A gated activation: what a pair of gate and up becomes.
struct Glu {
  enum class Kind {
    silu,           // gate * sigmoid(gate) * up
    gelu_tanh,      // gelu(gate) * up with the tanh form of GELU, Hendrycks & Gimpel 2016,
                    // arXiv:1606.08415: gate * sigmoid(2 sqrt(2 / pi) (gate + 0.044715 gate³))
    clamped_swish,  // gate * sigmoid(alpha * gate) * (up + 1), gate at most limit, |up| too
  };
  Kind kind = Kind::silu;
  float alpha = 0.0f;  // of clamped_swish, as is limit
  float limit = 0.0f;
};

// How a router's logits become experts and weights.
//
// Each expert has a score, and a choice value: the score plus its correction. Without corrections
// the logits stand for the choice values where only their order counts, for every score grows with
// its logit: scores that are equal only by rounding are told apart. With groups > 1 the experts are
// that many equal runs, and only the experts of the kept_groups groups that rank highest compete.
// The top_k largest choice values win, in falling order; equal ones, of experts or of groups: lower
// number first; NaN comes last. Weights are the scores of the chosen, which the corrections never
// touch: DeepSeek-V3, arXiv:2412.19437, section 2.1.2. Groups: DeepSeek-V2, arXiv:2405.04434,
// section 2.2.2.
struct RouteShape {
  enum class Score { softmax, sigmoid, sqrt_softplus };  // the last: sqrt(ln(1 + e^logit))
  enum class GroupRank { best, best_two };  // by the largest choice value, or the sum of two
  int64_t experts = 0;
  int64_t top_k = 0;
  Score score = Score::softmax;
  bool normalize = false;  // weights are divided by their sum + epsilon
  float epsilon = 0.0f;
  float scale = 1.0f;       // weights are multiplied by this last
  int64_t groups = 1;       // divides experts
  int64_t kept_groups = 1;  // they hold top_k experts or more
  GroupRank group_rank = GroupRank::best;
};

// One layer's paged cache of one dp group: K and V of `kv_heads` heads. Within a page K lies as
// [kv_heads][head_dim][page_tokens] and V as [kv_heads][page_tokens][v_head_dim], in all backends.
struct KvLayer {
  void* k = nullptr;  // of page 0: kv_page_elements() of head_dim
  void* v = nullptr;  // and of v_head_dim
  DType dtype = DType::bf16;
  int64_t page_tokens = 16;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;    // of q and k
  int64_t v_head_dim = 0;  // of v; often the same
  int64_t page_bytes = 0;  // from one page to the next, of k and of v
};

// A run of query tokens of one sequence within a call.
struct AttentionSlice {
  int64_t row = 0;  // first row of q, k, v and out
  int64_t tokens = 0;
  int64_t start = 0;  // position of the first
  // Of the blocks of page_tokens positions from number first_page on that its queries see, up to
  // that of position start + tokens - 1.
  std::span<const int32_t> pages;
  int64_t first_page = 0;

  int32_t page_of(int64_t block) const { return pages[static_cast<size_t>(block - first_page)]; }
};

// A query sees the keys up to its own position that window and chunk both allow.
struct AttentionShape {
  int64_t heads = 0;                    // query heads of this rank
  int64_t head_dim = 0;                 // of q and k
  int64_t v_head_dim = 0;               // of v and the output
  std::span<const int32_t> kv_of_head;  // [heads]: index into the rank's kv heads
  float scale = 1.0f;
  int64_t window = 0;    // keys a query sees, its own included; 0: all
  int64_t chunk = 0;     // it sees those from the last multiple of this on; 0: all
  float softcap = 0.0f;  // scores become softcap * tanh(score / softcap); 0: they stay
  // [heads]: one more logit in each head's softmax, whose value is nothing; null: none.
  const float* sinks = nullptr;
};

// One layer's paged cache of latent attention (MLA; DeepSeek-AI 2024, arXiv:2405.04434): one row
// per token, shared by all heads, [latent | rope]. A page is [page_tokens][latent + rope]. With
// rope = 0 it holds the keys of an index as well.
struct LatentLayer {
  void* rows = nullptr;  // of page 0
  DType dtype = DType::bf16;
  int64_t page_tokens = 16;
  int64_t latent = 0;      // elements that are key and value
  int64_t rope = 0;        // elements that are key only
  int64_t page_bytes = 0;  // from one page to the next
};

struct LatentShape {
  int64_t heads = 0;  // query heads of this rank
  float scale = 1.0f;
  // [rows of the call][selected_words]: bit t says whether key t (up to the row's own position) is
  // seen, the same for all heads; a row needs one at least. Null: all. The keys that are not seen
  // might as well not be there: blocks count those that are.
  const uint64_t* selected = nullptr;
  int64_t selected_words = 0;
};

// cos and sin of each position: [positions, dims / 2] each, dims = rotated dimensions.
struct RopeTable {
  int64_t dims = 0;          // even, at most a head's
  bool interleaved = false;  // pairs (2i, 2i + 1); else (i, i + dims / 2)
  std::vector<float> cos;
  std::vector<float> sin;
};

// Recurrent sequence mixing: what some layers do in place of attention. A sequence's state, fp32,
// is all that is kept of its past tokens.

// A run of tokens of one sequence within a call, and the slot of its state. With start 0 the state
// is zeros, whatever the slot holds. Slices of a call have slots of their own; each slot is left as
// it is after the slice's last token.
struct StateSlice {
  int64_t row = 0;  // first row of inputs and outputs
  int64_t tokens = 0;
  int64_t start = 0;  // position of the first
  int64_t state = 0;  // slot
};

// One layer's states of one kind: slot s begins at data + s * slot_floats. Two kinds may share
// slots (a convolution's and a recurrence's of one layer): data of the second then points behind
// the first. Fastest where every state begins at a multiple of 64 bytes.
struct StateLayer {
  float* data = nullptr;
  int64_t slot_floats = 0;  // from one slot to the next; at least what *_state_floats() says
};

// Depthwise convolution over the last `taps` tokens. State: the last taps - 1 inputs, oldest first,
// [taps - 1, channels].
struct CausalConv {
  int64_t channels = 0;
  int64_t taps = 4;             // at least 2
  const float* w = nullptr;     // [taps, channels], that of the oldest input first
  const float* bias = nullptr;  // [channels]; null: none
  bool silu = true;             // applied to the sum
};

// The gated delta rule of a layer. State: [heads][panels of 32 values][key_dim][32]; the last panel
// of a head is padded with numbers that reach no output.
struct DeltaRule {
  int64_t heads = 0;  // value heads of this rank
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  std::span<const int32_t> key_of_head;  // [heads]: index into the rank's key heads
  int64_t decays = 1;                    // of a head: 1, or key_dim (one for each key channel)
  const float* a_log = nullptr;          // [heads]
  const float* dt_bias = nullptr;        // [heads, decays]
  float lower_bound = 0.0f;              // of the log decay, below 0; 0: none
  float eps = 1e-6f;                     // of the norms of q and k
};

struct DeltaRuleInput {
  const float* q = nullptr;  // [rows, key heads, key_dim]
  const float* k = nullptr;  // [rows, key heads, key_dim]
  const float* v = nullptr;  // [rows, heads, value_dim]
  int64_t stride = 0;        // between rows of q, k and v
  const float* a = nullptr;  // [rows, heads, decays], rows a_stride apart
  int64_t a_stride = 0;
  const float* b = nullptr;  // [rows, heads], rows b_stride apart
  int64_t b_stride = 0;
};

// The selective state space of a layer. State: [heads][panels of 32 of head_dim][state_dim][32].
struct SsmScan {
  int64_t heads = 0;  // of this rank
  int64_t head_dim = 0;
  int64_t state_dim = 0;
  std::span<const int32_t> group_of_head;  // [heads]: index into the rank's groups of B and C
  const float* a_log = nullptr;            // [heads]
  const float* dt_bias = nullptr;          // [heads]
  const float* d = nullptr;                // [heads]
  float dt_min = 0.0f;                     // limits of dt after softplus
  float dt_max = std::numeric_limits<float>::infinity();
};

struct SsmInput {
  const float* x = nullptr;   // [rows, heads, head_dim]
  const float* b = nullptr;   // [rows, groups, state_dim]
  const float* c = nullptr;   // [rows, groups, state_dim]
  int64_t stride = 0;         // between rows of x, b and c
  const float* dt = nullptr;  // [rows, heads], rows dt_stride apart
  int64_t dt_stride = 0;
};

// RMS norm of each of `groups` runs of `width`, and a gate.
struct GatedNorm {
  enum class Gate { silu, sigmoid };
  enum class Order { norm_first, gate_first };
  int64_t groups = 0;
  int64_t width = 0;
  const float* w = nullptr;  // [groups, width], or [width] for all
  bool shared_w = true;      // the latter
  float eps = 1e-6f;
  Gate gate = Gate::silu;
  Order order = Order::norm_first;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // "reference", "avx2", "avx512", "avx512-vnni", "avx512-bf16" (each with what came before)
  virtual std::string_view isa() const = 0;
  virtual bool has_fast_bf16() const = 0;  // whether Compute::bf16 is the better default
  virtual int threads() const = 0;

  // out[rows, n] = x[rows, k] · Wᵀ (+ bias[n] if not null). Sums each segment of W in k order in
  // fp32 and adds the segments as a binary tree. Compute::bf16 rounds x to bf16 first. Where W has
  // integer codes, Compute::bf16 makes x integers as kernels/quantize_inputs.h says, and all
  // instruction sets give the same bits; fp32 multiplies x with the numbers that the codes mean.
  virtual void matmul(const float* x, int64_t rows, const PackedMatrix& w, const float* bias,
                      Compute compute, float* out) = 0;

  // As matmul for the fused matrix [2 * intermediate, k] whose panels alternate gate and up
  // (PanelOrder::gate_up): out[rows, intermediate] = glu(gate + gate_bias, up + up_bias). Biases:
  // [intermediate], null: zeros.
  virtual void matmul_glu(const float* x, int64_t rows, const PackedMatrix& w,
                          const float* gate_bias, const float* up_bias, const Glu& glu,
                          Compute compute, float* out) = 0;

  // The same for many experts at once, each with its own rows; work is balanced over threads by
  // rows. Experts that have rows are of one shape. Biases: [experts, intermediate], null: zeros.
  virtual void grouped_matmul(const float* x, const ExpertRows& rows,
                              std::span<const PackedMatrix> experts, Compute compute,
                              float* out) = 0;
  virtual void grouped_matmul_glu(const float* x, const ExpertRows& rows,
                                  std::span<const PackedMatrix> experts, const float* gate_bias,
                                  const float* up_bias, const Glu& glu, Compute compute,
                                  float* out) = 0;

  // out = x / sqrt(mean(x²) + eps) * w (null: without weight), for `rows` rows of `width` that lie
  // `stride` apart in x and out (out may be x). RMSNorm, Zhang & Sennrich 2019, arXiv:1910.07467.
  virtual void rms_norm(const float* x, int64_t rows, int64_t width, int64_t stride, const float* w,
                        float eps, float* out) = 0;
  // The two halves of a norm whose row is spread over ranks: sums of squares of `groups`
  // consecutive runs of `width` (sums[rows, groups]), then x *= w / sqrt(total[row] / count + eps),
  // again with w or, null, without.
  virtual void sum_squares(const float* x, int64_t rows, int64_t groups, int64_t width,
                           int64_t stride, float* sums) = 0;
  virtual void scale_by_norm(float* x, int64_t rows, int64_t width, int64_t stride,
                             const float* total, float count, const float* w, float eps) = 0;

  // out = (x - mean) / sqrt(mean((x - mean)²) + eps) * w + b; null: without weight, without bias.
  // Rows as in rms_norm. Layer normalization, Ba et al. 2016, arXiv:1607.06450.
  virtual void layer_norm(const float* x, int64_t rows, int64_t width, int64_t stride,
                          const float* w, const float* b, float eps, float* out) = 0;

  // Rotates the first table.dims of each head, pair i by the table's angle i: (a, b) becomes (a cos
  // - b sin, b cos + a sin). RoPE, Su et al. 2021, arXiv:2104.09864. x: [rows, heads, head_dim]
  // with rows `stride` apart; positions: [rows].
  virtual void rope(float* x, int64_t rows, int64_t heads, int64_t head_dim, int64_t stride,
                    const int32_t* positions, const RopeTable& table) = 0;

  // Writes k [rows, kv_heads, head_dim] and v [rows, kv_heads, v_head_dim] of the slices into their
  // pages. Rows are `k_stride` and `v_stride` apart.
  virtual void kv_write(const float* k, int64_t k_stride, const float* v, int64_t v_stride,
                        std::span<const AttentionSlice> slices, const KvLayer& cache) = 0;

  // out[row, heads * v_head_dim] = softmax(q · Kᵀ * scale) · V, causal, over pages in fixed blocks
  // of page_tokens from position 0 with an online softmax (Milakov & Gimelshein 2018,
  // arXiv:1805.02867). q: [rows, heads, head_dim], rows `q_stride` apart. The slices' own keys are
  // already in the cache. A sink comes before the first key: the softmax starts from the largest
  // score = sink and running sum 0 = 1 instead of -inf and 0.
  virtual void attention(const float* q, int64_t q_stride, std::span<const AttentionSlice> slices,
                         const AttentionShape& shape, const KvLayer& cache, float* out) = 0;

  // Writes rows [rows, latent + rope], `stride` apart, of the slices into their pages.
  virtual void latent_write(const float* rows, int64_t stride,
                            std::span<const AttentionSlice> slices, const LatentLayer& cache) = 0;

  // out[row, heads * latent] = softmax(q · rowsᵀ * scale) · rows[:, latent], causal, in blocks and
  // with an online softmax as in attention. q: [rows, heads, latent + rope], rows `q_stride` apart.
  // A product over a row is a sum over a row in sum_order.h. The slices' own rows are already in
  // the cache.
  virtual void latent_attention(const float* q, int64_t q_stride,
                                std::span<const AttentionSlice> slices, const LatentShape& shape,
                                const LatentLayer& cache, float* out) = 0;

  // scores[row][t] = sum over index heads h, in order, of weights[row][h] * max(q[row][h] · key t,
  // 0), for keys t up to the row's own position; other elements stay. The index of
  // DeepSeek-V3.2-Exp (DeepSeek-AI 2025, equation 1), whose other factors are the same for all keys
  // and heads, above 0, and change no choice. q: [rows, heads, keys.latent], rows `q_stride` apart;
  // weights: [rows, heads]; scores: rows `stride` apart. Keys were written by latent_write, with
  // rope = 0.
  virtual void index_scores(const float* q, int64_t q_stride, const float* weights, int64_t heads,
                            std::span<const AttentionSlice> slices, const LatentLayer& keys,
                            float* scores, int64_t stride) = 0;

  // selected[row][words]: bit t for the top_k highest scores among the keys up to the row's own
  // position (all if there are no more). Equal scores: lower position first; NaN ranks below every
  // number. Needs 64 * words > position.
  virtual void select_keys(const float* scores, int64_t stride,
                           std::span<const AttentionSlice> slices, int64_t top_k,
                           uint64_t* selected, int64_t words) = 0;

  // Chooses experts for each row. logits: [rows, experts]; correction: [experts], null: none; ids,
  // weights: [rows, top_k].
  virtual void route(const float* logits, const float* correction, int64_t rows,
                     const RouteShape& shape, int32_t* ids, float* weights) = 0;

  // out[i] = table[ids[i] - first] for ids in [first, first + count), else zeros. table: [count,
  // hidden].
  virtual void embed(const void* table, DType dtype, int64_t first, int64_t count, int64_t hidden,
                     std::span<const int32_t> ids, float* out) = 0;

  virtual void add(float* x, const float* y, int64_t count) = 0;  // x += y
  virtual void scale(float* x, int64_t count, float factor) = 0;  // x *= factor
  virtual void softcap(float* x, int64_t count, float cap) = 0;   // x = tanh(x / cap) * cap
  virtual void relu_squared(float* x, int64_t count) = 0;         // x = max(x, 0)²
  // x[row, :] *= factor[row]
  virtual void scale_rows(float* x, const float* factor, int64_t rows, int64_t width) = 0;
  // x *= sigmoid(gate), element by element; rows `x_stride` and `gate_stride` apart
  virtual void multiply_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width,
                                   int64_t x_stride, int64_t gate_stride) = 0;
  // x *= silu(gate), as above
  virtual void multiply_by_silu(float* x, const float* gate, int64_t rows, int64_t width,
                                int64_t x_stride, int64_t gate_stride) = 0;
  // x[row, :] *= sigmoid(gate[row]) (a shared expert's gate)
  virtual void scale_rows_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width) = 0;

  // out[row, :] = sum over slots s in order of weights[row, s] * (binary tree over `parts` of
  // partial[where[(row * top_k + s) * parts + p], :] + bias[ids[row, s], :]); where indexes rows of
  // `partial`. A slot whose first `where` is below 0 adds nothing, and its weight, id and other
  // parts are not read. bias: [experts, width]; null: none, and ids is not read.
  virtual void combine_experts(const float* partial, const int32_t* where, const float* weights,
                               const float* bias, const int32_t* ids, int64_t rows, int64_t top_k,
                               int64_t parts, int64_t width, float* out) = 0;

  // Recurrent sequence mixing. Tokens of a slice are processed strictly one after another by the
  // plain recurrence, never in blocks, so that a prefill, chunks of any sizes and single decodes
  // give the same bits, whatever else is in the batch. Rows in no slice are neither read nor
  // written.

  // Adds w[tap, c] * x[row - taps + 1 + tap, c] over taps in order, the oldest input first, with
  // fused multiply-adds from +0, then bias[c]; then silu. Inputs before the sequence's first are
  // zeros. x: [rows, channels], rows `stride` apart; out: [rows, channels], not x.
  virtual void causal_conv(const float* x, int64_t stride, std::span<const StateSlice> slices,
                           const CausalConv& conv, const StateLayer& state, float* out) = 0;

  // For each token and head, with the state S [key_dim, value_dim] (Gated DeltaNet, Yang et al.
  // 2024, arXiv:2412.06464; with decays per key channel Kimi Delta Attention, arXiv:2510.26692):
  //   q, k  = q / sqrt(sum q² + eps) / sqrt(key_dim), k / sqrt(sum k² + eps)
  //   decay = exp(-exp(a_log) * softplus(a + dt_bias)), or with a lower bound
  //           exp(lower_bound * sigmoid(exp(a_log) * (a + dt_bias)))
  //   delta = sigmoid(b) * (v - Sᵀ (decay * k))
  //   S     = decay * S + k deltaᵀ
  //   out   = Sᵀ q
  // Both products with Sᵀ add over keys in order with fused multiply-adds, from +0; S is updated by
  // fma(k, delta, decay * S). out: [rows, heads, value_dim], no input.
  virtual void gated_delta_rule(const DeltaRuleInput& input, std::span<const StateSlice> slices,
                                const DeltaRule& rule, const StateLayer& state, float* out) = 0;

  // For each token and head, with the state S [state_dim, head_dim] (Mamba-2, Dao & Gu 2024,
  // arXiv:2405.21060):
  //   dt  = softplus(dt + dt_bias) within [dt_min, dt_max]
  //   S   = exp(-exp(a_log) * dt) * S + b (dt * x)ᵀ
  //   out = Sᵀ c + d * x
  // Rounded and added as in gated_delta_rule. out: [rows, heads, head_dim], no input.
  virtual void ssm_scan(const SsmInput& input, std::span<const StateSlice> slices,
                        const SsmScan& scan, const StateLayer& state, float* out) = 0;

  // norm_first: out = rms_norm(x) * w * gate(z). gate_first: out = rms_norm(x * gate(z)) * w. Each
  // group on its own; gate is silu or sigmoid. x and out: [rows, groups, width], rows `stride`
  // apart (out may be x); z: the same, rows `z_stride` apart.
  virtual void gated_norm(const float* x, int64_t rows, int64_t stride, const float* z,
                          int64_t z_stride, const GatedNorm& norm, float* out) = 0;

  // A token and what is to be told of it, of each row: kernels/sample.h. results: [rows].
  virtual void sample(std::span<const SampleRow> rows, int64_t vocab, SampledRow* results) = 0;
};

// Floats of one slot's state: of causal_conv; of a recurrence with `keys` = key_dim and `values` =
// value_dim (gated_delta_rule), or state_dim and head_dim (ssm_scan).
int64_t conv_state_floats(int64_t channels, int64_t taps);
int64_t recurrent_state_floats(int64_t heads, int64_t keys, int64_t values);

// The best backend this CPU runs, or the named one (tests); throws bad_input for a name that is
// unknown or that this CPU cannot run.
std::unique_ptr<Backend> make_cpu_backend(int threads, std::string_view isa = "");
std::vector<std::string_view> cpu_isas();  // those this CPU runs, worst first

// Elements of one page of K, or with v_head_dim of V.
int64_t kv_page_elements(int64_t page_tokens, int64_t kv_heads, int64_t head_dim);

}  // namespace dure
