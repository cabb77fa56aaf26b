// What one instruction set offers to the vector backend: plain functions on plain structs, so that
// files compiled for that instruction set share no template or inline function with the rest of the
// program (the linker keeps one copy of those, and it might be the one that other CPUs cannot run).
// Work is split over threads by the caller; each function runs on one thread.
#pragma once

#include <cstdint>

#include "kernels/cpu/vector/latent_tile.h"

namespace dure {

inline constexpr int most_tile_rows = 12;       // rows of a register tile
inline constexpr int most_attention_rows = 16;  // (row, head) pairs that share one pass over keys
inline constexpr int element_types = 3;         // indexed by DType: f32, bf16, f16
inline constexpr int cache_types = 4;           // and fp8
inline constexpr int score_kinds = 3;           // indexed by RouteShape::Score
inline constexpr int coded_types = 3;           // indexed by CodeFormat: none, q8, q4
inline constexpr int block_kinds = 20;          // indexed by BlockFormat
inline constexpr int scaled_kinds = 4;          // fp8, int8, fp4, int4, which follow these
inline constexpr int glu_kinds = 3;  // indexed by Glu::Kind: silu, gelu_tanh, clamped_swish

// out[rows, 32] = x · one panel of weights. A step is one unit of the packed layout: one input, a
// pair of them for bf16, four for integer codes.
struct MatmulTile {
  const void* weights = nullptr;         // [steps][32][unit], segment after segment
  const void* x = nullptr;               // [inputs of x, see below][rows]
  const int64_t* segments = nullptr;     // steps of each segment; of codes: groups of each
  const int32_t* group_steps = nullptr;  // of codes: steps of each group
  int32_t segment_count = 0;
  int32_t rows = 0;                // 1 .. most rows of the table
  float* out = nullptr;            // [rows][32]
  float* tree = nullptr;           // scratch [levels][rows][32]; levels > log2(segment_count)
  const char* prefetch = nullptr;  // where the weights that come next are; a hint
  int64_t prefetch_step = 0;       // bytes to move on after each step
  int64_t prefetch_scales = 0;     // and after the scales of a group of codes
};

// Tiles of gate and up on their way to what backend.h's Glu makes of them.
struct GluTile {
  const float* gate = nullptr;  // [rows][32]
  const float* up = nullptr;    // [rows][32]
  int32_t rows = 0;
  int32_t columns = 0;               // 1 .. 32
  const float* gate_bias = nullptr;  // [columns] or null
  const float* up_bias = nullptr;
  float alpha = 0.0f;
  float limit = 0.0f;
  float* out = nullptr;  // [rows], `stride` apart
  int64_t stride = 0;
};

// Rows of x on their way into a tile: [k] each, padded with zeros to whole steps in each segment.
struct PackTile {
  const float* const* x = nullptr;  // [rows]
  const int64_t* inputs = nullptr;  // inputs of each segment
  int32_t segment_count = 0;
  int32_t rows = 0;
  int32_t unit = 1;  // inputs that make one step
  void* out = nullptr;
};

// `count` blocks to their values, in fp32 or rounded to bf16.
template <class Number>
using BlockDecoder = void (*)(const uint8_t* blocks, int64_t count, Number* to);

// Codes whose scales lie apart, in strips (tensor/block_rows.h): steps that share zeros and scales,
// of each of the 64 numbers of a step.
struct StripSteps {
  const uint8_t* strip = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  const float* zeros = nullptr;
  const float* scales = nullptr;
};
template <class Number>
using StripDecoder = void (*)(const StripSteps& steps, Number* to);

// Blocks of a checkpoint on their way to a panel's numbers: `rows` of them, `stride` elements
// apart, become columns. Elements are of 32 bits: fp32, or pairs of bf16.
struct TurnTile {
  const uint32_t* rows = nullptr;  // [32], each `count` elements
  int64_t stride = 0;
  int64_t count = 0;
  uint32_t* out = nullptr;  // [count][32]
};

// A row of x on its way to integers (kernels/quantize_inputs.h).
struct QuantizeRow {
  const float* x = nullptr;
  const int32_t* inputs = nullptr;  // of each group
  int32_t groups = 0;
  float smallest = 0.0f;    // groups of smaller numbers are zeros
  int8_t* codes = nullptr;  // each group padded to whole steps; room for a group more than that
  float* scales = nullptr;  // [groups]
  int32_t* sums = nullptr;  // [groups]: of the codes
};

// One row of experts' outputs: out = sum over slots, in order, of weights[s] * (binary tree over
// `parts` of partial[where[s * parts + p]] + bias[ids[s]]).
struct CombineRow {
  const float* partial = nullptr;  // [.., width]
  const int32_t* where = nullptr;  // [slots, parts]
  const float* weights = nullptr;  // [slots]
  const float* bias = nullptr;     // [experts, width] or null
  const int32_t* ids = nullptr;    // [slots], if there is a bias
  int64_t slots = 0;
  int64_t parts = 0;
  int64_t width = 0;
  float* out = nullptr;  // [width]
};

// Queries of up to most_attention_rows (row, head) pairs that read the same kv head of the same
// sequence. Entries of one row lie together.
struct AttentionTile {
  const float* const* q = nullptr;  // [entries]: [head_dim]
  float* const* out = nullptr;      // [entries]: [v_head_dim]
  const int64_t* begin = nullptr;   // [entries]: first key seen
  const int64_t* end = nullptr;     // [entries]: one past the last key seen; begin < end
  const float* sinks = nullptr;     // [entries]; null: none
  int32_t entries = 0;
  const char* k = nullptr;         // page 0, this kv head: [head_dim][page_tokens]
  const char* v = nullptr;         // page 0, this kv head: [page_tokens][v_head_dim]
  int64_t page_bytes = 0;          // from one page to the next
  const int32_t* pages = nullptr;  // page of each block of positions from block first_page on
  int64_t first_page = 0;
  int64_t page_tokens = 0;
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;
  float scale = 1.0f;
  float softcap = 0.0f;      // 0: none
  float* scratch = nullptr;  // attention_scratch() floats, aligned to 64 bytes
};

// Inputs of a convolution: `width` channels of the tokens of one slice.
struct ConvTile {
  const float* x = nullptr;  // of the first token
  int64_t stride = 0;
  int64_t tokens = 0;
  bool fresh = false;           // the inputs before are zeros, not the state's
  float* state = nullptr;       // [taps - 1][channels]
  const float* w = nullptr;     // [taps][channels]
  const float* bias = nullptr;  // may be null
  int64_t channels = 0;         // from one row of state, w and out to the next
  int64_t width = 0;
  int64_t taps = 0;
  bool silu = false;
  float* out = nullptr;
  float* scratch = nullptr;  // (taps - 1) * width floats
};

inline constexpr int state_block_tokens = 16;  // whose gates are computed together

// The tokens of one slice on their way through some panels of one head's state. Inputs are of the
// first token and that head, rows `stride` apart; see Backend::gated_delta_rule.
struct DeltaTile {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t stride = 0;
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* b = nullptr;
  int64_t b_stride = 0;
  int64_t decays = 1;
  float a_log = 0.0f;
  const float* dt_bias = nullptr;  // [decays]
  float lower_bound = 0.0f;
  float eps = 0.0f;
  float q_scale = 1.0f;
  int64_t tokens = 0;
  bool fresh = false;  // the state is zeros
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  float* state = nullptr;  // of the head: [panels][key_dim][32]
  int32_t panel = 0;
  int32_t panel_end = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
  float* scratch = nullptr;  // delta_scratch() floats, aligned to 64 bytes
};

// The same for Backend::ssm_scan.
struct SsmTile {
  const float* x = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;
  int64_t stride = 0;
  const float* dt = nullptr;
  int64_t dt_stride = 0;
  float a_log = 0.0f;
  float dt_bias = 0.0f;
  float dt_min = 0.0f;
  float dt_max = 0.0f;
  float d = 0.0f;
  int64_t tokens = 0;
  bool fresh = false;
  int64_t state_dim = 0;
  int64_t head_dim = 0;
  float* state = nullptr;  // of the head: [panels][state_dim][32]
  int32_t panel = 0;
  int32_t panel_end = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

static constexpr int64_t round_up_lanes(int64_t count) {
  return (count + 15) / 16 * 16;
}

inline constexpr int peak_sums = 12;  // Lanes in flight of the peak loops

struct KernelTable {
  const char* name = "";
  int tile_rows = 0;  // rows of the largest tile

  // fp32 products: x in fp32, one input after another; by type of the weights.
  void (*matmul_fp32[element_types])(const MatmulTile&) = {};
  // Products of pairs in bf16 hardware (dpbf16ps): x as pairs of bf16. Null if there is none; bf16
  // computation then rounds x to bf16 and uses matmul_fp32.
  void (*matmul_bf16)(const MatmulTile&) = nullptr;
  void (*pack_fp32)(const PackTile&) = nullptr;     // out: fp32
  void (*pack_rounded)(const PackTile&) = nullptr;  // out: fp32, rounded to bf16
  void (*pack_bf16)(const PackTile&) = nullptr;     // out: pairs of bf16; unit is 2

  // Products of integer codes: x as integers, with what goes with each group: [steps][rows] of four
  // int8, [rows] scales, [rows] first values of the integer sums, (code_bias - zero of the format)
  // * the sum of the group's x. In fp32: x in fp32, each group padded to whole steps.
  void (*matmul_codes[coded_types])(const MatmulTile&) = {};
  void (*matmul_codes_fp32[coded_types])(const MatmulTile&) = {};
  int code_tile_rows = 0;
  int32_t code_bias = 0;
  void (*quantize_row)(const QuantizeRow&) = nullptr;

  // Matrices in blocks (tensor/block_format.h). Null: no better than decode_blocks().
  BlockDecoder<float> decode_fp32[block_kinds] = {};
  BlockDecoder<uint16_t> decode_bf16[block_kinds] = {};
  void (*round_row)(const float* x, int64_t count, uint16_t* out) = nullptr;  // to bf16
  // The last, null if there is none, takes only what makes no subnormal numbers, and scales up to
  // 2^100.
  StripDecoder<float> strips_fp32[scaled_kinds] = {};
  StripDecoder<uint16_t> strips_bf16[scaled_kinds] = {};
  StripDecoder<uint16_t> strips_bf16_normal[scaled_kinds] = {};
  void (*turn)(const TurnTile&) = nullptr;

  // Epilogues: from a tile [rows][32] to `columns` outputs of rows `stride` apart; bias may be
  // null.
  void (*finish_plain)(const float* tile, int32_t rows, int32_t columns, const float* bias,
                       float* out, int64_t stride) = nullptr;
  void (*finish_glu[glu_kinds])(const GluTile&) = {};

  void (*attention[cache_types])(const AttentionTile&) = {};
  void (*latent_attention[cache_types])(const LatentTile&) = {};
  void (*index_scores[cache_types])(const IndexTile&) = {};

  float (*sum_squares)(const float* x, int64_t width) = nullptr;
  // out = x * factor * w; w null: ones
  void (*scale_row)(const float* x, int64_t width, float factor, const float* w,
                    float* out) = nullptr;
  // backend.h, layer_norm, of one row
  void (*layer_norm)(const float* x, int64_t width, const float* w, const float* b, float eps,
                     float* out) = nullptr;
  // Rotates pairs (x[i], x[i + half]), i in [0, half).
  void (*rope_head)(float* x, int64_t half, const float* cos, const float* sin) = nullptr;
  // The same with pairs (x[2i], x[2i + 1]).
  void (*rope_head_interleaved)(float* x, int64_t half, const float* cos,
                                const float* sin) = nullptr;
  void (*widen[element_types])(const void* from, int64_t count, float* out) = {};
  // x = tanh(x / cap) * cap
  void (*softcap)(float* x, int64_t count, float cap) = nullptr;
  // x *= 1 / (1 + exp(-gate))
  void (*scale_by_sigmoid)(float* x, float gate, int64_t width) = nullptr;
  // Scores of a row of router logits: softmax, sigmoid, sqrt_softplus.
  void (*route_scores[score_kinds])(const float* x, int64_t count, float* out) = {};
  void (*combine)(const CombineRow&) = nullptr;

  void (*convolve)(const ConvTile&) = nullptr;
  void (*delta_rule)(const DeltaTile&) = nullptr;
  void (*ssm_scan)(const SsmTile&) = nullptr;
  // out = x * silu(z), and x * sigmoid(z); out may be x.
  void (*gate_row[2])(const float* x, const float* z, int64_t width, float* out) = {};

  // The loops of peak.h.
  float (*peak)(int64_t rounds) = nullptr;
  float (*peak_codes)(int64_t rounds) = nullptr;
  uint64_t (*read_stream)(const void* data, int64_t bytes) = nullptr;
  // exp, tanh and softplus of `count` numbers; for tests of their error bounds.
  void (*exp)(const float* x, int64_t count, float* out) = nullptr;
  void (*tanh)(const float* x, int64_t count, float* out) = nullptr;
  void (*softplus)(const float* x, int64_t count, float* out) = nullptr;
};

// Compiled always; to be called only where the CPU has the instructions.
const KernelTable& avx2_kernels();           // AVX2, FMA, F16C
const KernelTable& avx512_kernels();         // AVX-512 F, BW, DQ, VL
void avx512_bf16_matmul(const MatmulTile&);  // and AVX512_BF16
void avx512_bf16_decoders(KernelTable& table);
float avx512_bf16_peak(int64_t rounds);
void avx512_vnni_matmul_q8(const MatmulTile&);  // AVX512_VNNI; they take code_bias 0
void avx512_vnni_matmul_q4(const MatmulTile&);
float avx512_vnni_peak(int64_t rounds);

// Floats of a softmax's running state: values, scores, 16 sums and the largest of each entry.
static constexpr int64_t softmax_scratch(int64_t page_tokens, int64_t value_dim) {
  return most_attention_rows * (round_up_lanes(value_dim) + round_up_lanes(page_tokens) + 16 + 1);
}
// Floats of AttentionTile::scratch.
static constexpr int64_t attention_scratch(int64_t page_tokens, int64_t head_dim,
                                           int64_t v_head_dim) {
  return most_attention_rows * round_up_lanes(head_dim) + softmax_scratch(page_tokens, v_head_dim);
}
// Floats of LatentTile::scratch.
static constexpr int64_t latent_scratch(int64_t page_tokens, int64_t latent) {
  return softmax_scratch(page_tokens, latent);
}

// Floats of DeltaTile::scratch.
static constexpr int64_t delta_scratch(int64_t key_dim) {
  return state_block_tokens * (4 * round_up_lanes(key_dim) + 1);
}

}  // namespace dure
