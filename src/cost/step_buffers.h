// The buffers that a rank needs while a step runs: the engine allocates exactly these and the
// planner sums them. Sizes are for the largest step, `max_batch_tokens` tokens of each dp group.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/shard.h"

namespace dure {

enum class StepBuffer {
  hidden,           // [tokens, hidden] fp32, the residual stream
  normed,           // [tokens, hidden] fp32
  qkv,              // [tokens, q, k, v and output gate of the rank, a latent row, a StateRow] fp32
  latent,           // [latent_rows, LatentWidths::total] fp32: a block of rows in latent attention
  index_scores,     // [index_rows, context] fp32: of all keys, where an indexer chooses
  selected,         // [tokens, selected_words(context)] 64 bits each: the keys chosen
  attended,         // [tokens, q heads of the rank * head_dim] fp32
  convolved,        // [tokens, q, k and v of the rank] fp32: layers that keep a state
  state_gates,      // [tokens, StateRow::gates] fp32: decays and gates made by two matrices
  partial,          // [tokens, hidden] fp32: a row-parallel product before and after its reduction
  ffn,              // [tokens, widest dense or shared intermediate of the rank] fp32
  norm_sums,        // [tokens, heads of the model + 1] fp32; norms over heads of several ranks
  router,           // [tokens, experts + 1] fp32
  routes,           // [tokens, top k] of ids int32 and weights fp32
  shared,           // [tokens, hidden] fp32: of a shared expert, or a dense part beside experts
  dispatch_send,    // [owned tokens of a chunk * ranks of other dp groups, hidden] fp32
  expert_input,     // [chunk * dp, hidden] fp32: rows of this and other dp groups
  expert_mid,       // [chunk * dp * top k, expert intermediate of the rank] fp32
  expert_output,    // [chunk * dp * top k, hidden] fp32
  expert_send,      // the same rows, by owner
  expert_receive,   // [owned tokens of a chunk * top k * etp, hidden] fp32
  expert_combined,  // [owned tokens of a chunk, hidden] fp32
  logits,           // [logit_rows, vocabulary of the rank] fp32
  all_logits,       // [logit_rows, vocabulary] fp32, twice: by rank and in order
};

inline constexpr int step_buffer_count = static_cast<int>(StepBuffer::all_logits) + 1;
std::string_view to_string(StepBuffer buffer);

// Rows of logits computed at once; more rows take more rounds.
inline constexpr int64_t logit_rows = 64;

// Rows that latent attention works on at once: one of them takes heads * (3 kv_rank + ...) floats.
inline constexpr int64_t latent_rows = 64;

// Rows whose keys are chosen at once: each takes a score of every key.
inline constexpr int64_t index_rows = 16;
// Of 64 bits, one for each key of a sequence of `context` tokens.
inline int64_t selected_words(int64_t context) {
  return (context + 63) / 64;
}

// The parts of StepBuffer::latent, floats of one row on a rank with `heads` heads, in order.
struct LatentWidths {
  int64_t q_a = 0;            // compressed query
  int64_t q_nope = 0;         // [heads, nope_dim]
  int64_t q_rope = 0;         // [heads, rope_dim]
  int64_t grouped = 0;        // [heads, rows, kv_rank]: of q, by head; then of values, [.., v_dim]
  int64_t q = 0;              // [heads, kv_rank + rope_dim]: what meets the cached rows
  int64_t attended = 0;       // [heads, kv_rank]
  int64_t index_q = 0;        // [index heads, head_dim]
  int64_t index_weights = 0;  // [index heads]
  int64_t total() const {
    return q_a + q_nope + q_rope + grouped + q + attended + index_q + index_weights;
  }
};
LatentWidths latent_widths(const MlaSpec& mla, int64_t heads);

// Tokens of each dp group that pass an MoE layer at once: bounds the expert buffers.
int64_t moe_chunk_tokens(const Layout& layout, int64_t max_batch_tokens);

struct StepBufferSize {
  StepBuffer buffer;
  int64_t bytes;
  bool communication;  // sent to or received from peers: counted apart
};

// Buffers that the rank does not need have 0 bytes; all step_buffer_count are listed, in order.
// `context`: tokens of the longest sequence.
std::vector<StepBufferSize> step_buffers(const ModelSpec& spec, const Layout& layout,
                                         const RankShare& share, int64_t max_batch_tokens,
                                         int64_t context);

}  // namespace dure
