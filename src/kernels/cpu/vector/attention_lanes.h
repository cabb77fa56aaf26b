// Paged attention over Lanes: an online softmax over blocks of keys (Milakov & Gimelshein 2018,
// arXiv:1805.02867), K and V widened once for all (row, head) pairs that read them. Include after
// one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"

namespace dure {
namespace {

// The running state of a tile, in its scratch.
struct AttentionState {
  int64_t value_stride = 0;  // floats
  int64_t score_stride = 0;
  float* q = nullptr;        // [head_dim][most_attention_rows]
  float* value = nullptr;    // [entries][value_stride]: weighted sum of V so far
  float* score = nullptr;    // [entries][score_stride]: of this block, then the weights
  float* sums = nullptr;     // [entries][16]: running sums of weights
  float* largest = nullptr;  // [entries]
};

inline AttentionState start_attention(const AttentionTile& tile) {
  AttentionState state;
  state.value_stride = round_up_lanes(tile.v_head_dim);
  state.score_stride = round_up_lanes(tile.page_tokens);
  state.q = tile.scratch;
  state.value = state.q + round_up_lanes(tile.head_dim) * most_attention_rows;
  state.score = state.value + state.value_stride * most_attention_rows;
  state.sums = state.score + state.score_stride * most_attention_rows;
  state.largest = state.sums + 16 * most_attention_rows;
  for (int64_t d = 0; d < tile.head_dim; ++d)
    for (int32_t e = 0; e < tile.entries; ++e) state.q[d * most_attention_rows + e] = tile.q[e][d];
  for (int64_t i = 0; i < state.value_stride * tile.entries; ++i) state.value[i] = 0.0f;
  for (int32_t i = 0; i < 16 * tile.entries; ++i) state.sums[i] = 0.0f;
  for (int32_t e = 0; e < 16; ++e) state.largest[e] = -__builtin_inff();
  if (tile.sinks != nullptr) {
    for (int32_t e = 0; e < tile.entries; ++e) {
      state.largest[e] = tile.sinks[e];
      state.sums[e * 16] = 1.0f;
    }
  }
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

// Turns the scores of entries [first, first + E) into weights and rescales the running sums; the
// factors for the running values go to rescale[E].
template <int E>
inline void weigh(const AttentionState& state, int first, float* rescale) {
  alignas(64) float change[16] = {};
  for (int e = 0; e < E; ++e) {
    const float* score = state.score + (first + e) * state.score_stride;
    Lanes top = all(state.largest[first + e]);
    for (int64_t t = 0; t < state.score_stride; t += 16) top = max(load(score + t), top);
    const float largest = largest_of(top);
    change[e] = state.largest[first + e] - largest;
    state.largest[first + e] = largest;
  }
  store(rescale, exp(load(change)));
  for (int e = 0; e < E; ++e) {
    float* score = state.score + (first + e) * state.score_stride;
    float* sums = state.sums + (first + e) * 16;
    const Lanes largest = all(state.largest[first + e]);
    Lanes sum = load(sums) * all(rescale[e]);
    for (int64_t t = 0; t < state.score_stride; t += 16) {
      const Lanes weight = exp(load(score + t) - largest);
      store(score + t, weight);
      sum = sum + weight;
    }
    store(sums, sum);
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
  const int64_t page = tile.pages[block];
  const auto* k = reinterpret_cast<const typename Type::Stored*>(tile.k + page * tile.k_page_bytes);
  const auto* v = reinterpret_cast<const typename Type::Stored*>(tile.v + page * tile.v_page_bytes);
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

inline int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
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
  for (int32_t e = 0; e < tile.entries; ++e) {
    const Lanes sum = all(sum_of(load(state.sums + e * 16)));
    for (int64_t d = 0; d < tile.v_head_dim; d += 16) {
      const int64_t n = tile.v_head_dim - d < 16 ? tile.v_head_dim - d : 16;
      store_first(tile.out[e] + d, n, load(state.value + e * state.value_stride + d) / sum);
    }
  }
}

}  // namespace
}  // namespace dure
