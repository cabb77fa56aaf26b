// Paged attention over Lanes: an online softmax over blocks of keys, K and V widened once for all
// (row, head) pairs that read them. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/softmax_lanes.h"

namespace dure {
namespace {

// The queries of a tile with entries in the lanes, and their running softmax, in its scratch.
struct AttentionState : RunningSoftmax {
  float* q = nullptr;  // [head_dim][most_attention_rows]
};

inline AttentionState start_attention(const AttentionTile& tile) {
  float* const rest = tile.scratch + round_up_lanes(tile.head_dim) * most_attention_rows;
  const AttentionState state{
      start_softmax(rest, tile.v_head_dim, tile.page_tokens, tile.entries, tile.sinks),
      tile.scratch};
  for (int64_t d = 0; d < tile.head_dim; ++d)
    for (int32_t e = 0; e < tile.entries; ++e) state.q[d * most_attention_rows + e] = tile.q[e][d];
  return state;
}

// Scores of E entries from `first` on with 16 keys, of which [begin, end) are seen; the others
// become -inf.
template <class Type, int E>
inline void score_keys(const AttentionState& state, const typename Type::Stored* k,
                       int64_t page_tokens, int64_t head_dim, float scale, int first, int64_t keys,
                       int64_t begin, int64_t end, float* score) {
  Lanes dot[E];
  for (int e = 0; e < E; ++e) dot[e] = zero();
  const float* q = state.q + first;
  for (int64_t d = 0; d < head_dim; ++d, k += page_tokens, q += most_attention_rows) {
    const Lanes key = keys >= 16 ? Type::load(k) : Type::load_first(k, keys);
    for (int e = 0; e < E; ++e) dot[e] = fma(all(q[e]), key, dot[e]);
  }
  for (int e = 0; e < E; ++e) {
    const Lanes scaled = keep_between(dot[e] * all(scale), begin, end, all(-__builtin_inff()));
    store(score + e * state.score_stride, scaled);
  }
}

// softcap * tanh(score / softcap) of keys [begin, end), for entries [first, last). Out of line: few
// models have it, and it must not take registers from the others.
[[gnu::noinline]] void cap_scores(const AttentionState& state, int first, int last, float softcap,
                                  int64_t begin, int64_t end) {
  for (int e = first; e < last; ++e) {
    float* score = state.score + e * state.score_stride;
    for (int64_t t = begin / 16 * 16; t < end; t += 16) {
      const Lanes scaled = load(score + t);
      const Lanes capped = tanh(scaled / all(softcap)) * all(softcap);
      store(score + t, keep_between(capped, begin - t, end - t, scaled));
    }
  }
}

// value = value * rescale + weights · V[begin, end), for E entries.
template <class Type, int E>
inline void add_values(const AttentionState& state, const typename Type::Stored* v,
                       int64_t v_head_dim, int first, int64_t begin, int64_t end,
                       const float* rescale) {
  for (int64_t d = 0; d < v_head_dim; d += 16) {
    Lanes value[E];
    float* const running = state.value + first * state.value_stride + d;
    for (int e = 0; e < E; ++e) value[e] = load(running + e * state.value_stride) * all(rescale[e]);
    const float* weight = state.score + first * state.score_stride;
    for (int64_t t = begin; t < end; ++t) {
      const auto* at = v + t * v_head_dim + d;
      const Lanes v_lanes =
          v_head_dim - d >= 16 ? Type::load(at) : Type::load_first(at, v_head_dim - d);
      for (int e = 0; e < E; ++e)
        value[e] = fma(all(weight[e * state.score_stride + t]), v_lanes, value[e]);
    }
    for (int e = 0; e < E; ++e) store(running + e * state.value_stride, value[e]);
  }
}

// Entries [first, first + E) attend keys [begin, end) of block `block`; 0 <= begin < end <=
// page_tokens.
template <class Type, int E>
inline void attend_block(const AttentionTile& tile, const AttentionState& state, int64_t block,
                         int first, int64_t begin, int64_t end) {
  const int64_t page = tile.pages[block - tile.first_page];
  const auto* k = reinterpret_cast<const typename Type::Stored*>(tile.k + page * tile.page_bytes);
  const auto* v = reinterpret_cast<const typename Type::Stored*>(tile.v + page * tile.page_bytes);
  for (int64_t t = 0; t < tile.page_tokens; t += 16) {
    score_keys<Type, E>(state, k + t, tile.page_tokens, tile.head_dim, tile.scale, first,
                        tile.page_tokens - t, begin - t, end - t,
                        state.score + first * state.score_stride + t);
  }
  if (tile.softcap > 0.0f) cap_scores(state, first, first + E, tile.softcap, begin, end);
  alignas(64) float rescale[16];
  weigh<E>(state, first, rescale);
  add_values<Type, E>(state, v, tile.v_head_dim, first, begin, end, rescale);
}

template <class Type, int E = register_entries>
inline void attend_some(const AttentionTile& tile, const AttentionState& state, int64_t block,
                        int count, int first, int64_t begin, int64_t end) {
  if (count >= E) return attend_block<Type, E>(tile, state, block, first, begin, end);
  if constexpr (E > 1) attend_some<Type, E - 1>(tile, state, block, count, first, begin, end);
}

template <class Type>
void attend(const AttentionTile& tile) {
  const AttentionState state = start_attention(tile);
  int64_t begin = tile.begin[0];
  int64_t end = tile.end[0];
  for (int32_t e = 1; e < tile.entries; ++e) {
    begin = tile.begin[e] < begin ? tile.begin[e] : begin;
    end = tile.end[e] > end ? tile.end[e] : end;
  }
  const int64_t size = tile.page_tokens;
  for (int64_t block = begin / size; block * size < end; ++block) {
    const int64_t from = block * size;
    // Runs of entries that see the same keys of this block go together. Which entries share a pass
    // changes nothing in what is computed for each.
    for (int32_t e = 0; e < tile.entries;) {
      const int64_t first_key = clamp(tile.begin[e] - from, 0, size);
      const int64_t last_key = clamp(tile.end[e] - from, 0, size);
      int32_t same = 1;
      while (e + same < tile.entries && same < register_entries &&
             clamp(tile.begin[e + same] - from, 0, size) == first_key &&
             clamp(tile.end[e + same] - from, 0, size) == last_key)
        ++same;
      if (first_key < last_key) attend_some<Type>(tile, state, block, same, e, first_key, last_key);
      e += same;
    }
  }
  finish_softmax(state, tile.entries, tile.v_head_dim, tile.out);
}

}  // namespace
}  // namespace dure
