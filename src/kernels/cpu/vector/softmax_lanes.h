// The online softmax of attention over Lanes (Milakov & Gimelshein 2018, arXiv:1805.02867), for a
// few queries that walk blocks of keys together. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"

namespace dure {
namespace {

// What up to most_attention_rows queries (entries) have seen so far.
struct RunningSoftmax {
  int64_t value_stride = 0;  // floats
  int64_t score_stride = 0;
  float* value = nullptr;    // [entries][value_stride]: weighted sum of values
  float* score = nullptr;    // [entries][score_stride]: of this block, then the weights
  float* sums = nullptr;     // [entries][16]: running sums of weights
  float* largest = nullptr;  // [entries]
};

// In softmax_scratch() floats; sinks: [entries] or null.
inline RunningSoftmax start_softmax(float* scratch, int64_t value_dim, int64_t page_tokens,
                                    int32_t entries, const float* sinks) {
  RunningSoftmax state;
  state.value_stride = round_up_lanes(value_dim);
  state.score_stride = round_up_lanes(page_tokens);
  state.value = scratch;
  state.score = state.value + state.value_stride * most_attention_rows;
  state.sums = state.score + state.score_stride * most_attention_rows;
  state.largest = state.sums + 16 * most_attention_rows;
  for (int64_t i = 0; i < state.value_stride * entries; ++i) state.value[i] = 0.0f;
  for (int32_t i = 0; i < 16 * entries; ++i) state.sums[i] = 0.0f;
  for (int32_t e = 0; e < most_attention_rows; ++e) state.largest[e] = -__builtin_inff();
  if (sinks != nullptr) {
    for (int32_t e = 0; e < entries; ++e) {
      state.largest[e] = sinks[e];
      state.sums[e * 16] = 1.0f;
    }
  }
  return state;
}

// Turns the scores of entries [first, first + E) into weights and rescales the running sums; the
// factors for the running values go to rescale[E].
template <int E>
inline void weigh(const RunningSoftmax& state, int first, float* rescale) {
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

// out[e][value_dim] = values / sum of weights.
inline void finish_softmax(const RunningSoftmax& state, int32_t entries, int64_t value_dim,
                           float* const* out) {
  for (int32_t e = 0; e < entries; ++e) {
    const Lanes sum = all(sum_of(load(state.sums + e * 16)));
    for (int64_t d = 0; d < value_dim; d += 16) {
      const int64_t n = value_dim - d < 16 ? value_dim - d : 16;
      store_first(out[e] + d, n, load(state.value + e * state.value_stride + d) / sum);
    }
  }
}

inline int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

}  // namespace
}  // namespace dure
