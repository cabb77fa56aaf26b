// Latent attention over Lanes: every head reads the same rows, whose first elements are the value
// too. Rows lie in the cache as they are used, elements in the lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/dot_lanes.h"
#include "kernels/cpu/vector/softmax_lanes.h"

namespace dure {
namespace {

template <class Type>
inline const void* row_of(const LatentTile& tile, int64_t position) {
  const int64_t page = tile.pages[position / tile.page_tokens];
  const int64_t token = position % tile.page_tokens;
  return tile.rows + page * tile.page_bytes +
         token * tile.width * static_cast<int64_t>(sizeof(typename Type::Stored));
}

// The next up to page_tokens keys from `position` on that an entry sees, to tile.keys; returns how
// many, and moves position beyond them.
template <class Type>
inline int64_t list_keys(const LatentTile& tile, const uint64_t* selected, int64_t end,
                         int64_t& position) {
  int64_t count = 0;
  while (position < end && count < tile.page_tokens) {
    if (selected != nullptr) {
      const uint64_t bits = selected[position / 64] >> (position % 64);
      position = bits != 0 ? position + __builtin_ctzll(bits) : (position / 64 + 1) * 64;
      if (bits == 0 || position >= end) continue;
    }
    tile.keys[count++] = row_of<Type>(tile, position++);
  }
  return count;
}

template <class Type>
inline const typename Type::Stored* key_at(const LatentTile& tile, int64_t k) {
  return static_cast<const typename Type::Stored*>(tile.keys[k]);
}

// value = value * rescale + weights · the listed rows, for E entries and D Lanes from element d on,
// of which n (1..16) elements are in the last.
template <class Type, int E, int D>
inline void add_rows(const LatentTile& tile, const RunningSoftmax& state, int first, int64_t count,
                     const float* rescale, int64_t d, int64_t n) {
  Lanes value[E * D];
  float* const running = state.value + first * state.value_stride + d;
  for (int e = 0; e < E; ++e)
    for (int i = 0; i < D; ++i)
      value[e * D + i] = load(running + e * state.value_stride + i * 16) * all(rescale[e]);
  const float* const weight = state.score + first * state.score_stride;
  for (int64_t k = 0; k < count; ++k) {
    const auto* at = key_at<Type>(tile, k) + d;
    Lanes row[D];
    for (int i = 0; i < D; ++i)
      row[i] = i + 1 < D || n == 16 ? Type::load(at + i * 16) : Type::load_first(at + i * 16, n);
    for (int e = 0; e < E; ++e) {
      const Lanes w = all(weight[e * state.score_stride + k]);
      for (int i = 0; i < D; ++i) value[e * D + i] = fma(w, row[i], value[e * D + i]);
    }
  }
  for (int e = 0; e < E; ++e)
    for (int i = 0; i < D; ++i) store(running + e * state.value_stride + i * 16, value[e * D + i]);
}

// Entries [first, first + E) attend the `count` listed keys.
template <class Type, int E>
inline void attend_rows(const LatentTile& tile, const RunningSoftmax& state, int first,
                        int64_t count) {
  float* const score = state.score + first * state.score_stride;
  for (int64_t i = 0; i < E * state.score_stride; i += 16) store(score + i, all(-__builtin_inff()));
  each_dot<Type>(
      E, count, tile.width, [&](int64_t e) { return tile.q[first + e]; },
      [&](int64_t k) { return key_at<Type>(tile, k); },
      [&](int64_t e, int64_t k, float dot) {
        score[e * state.score_stride + k] = dot * tile.scale;
      });
  alignas(64) float rescale[16];
  weigh<E>(state, first, rescale);
  int64_t d = 0;
  for (; d + 16 * lanes_at_once <= tile.latent; d += 16 * lanes_at_once)
    add_rows<Type, E, lanes_at_once>(tile, state, first, count, rescale, d, 16);
  for (; d < tile.latent; d += 16) {
    const int64_t n = tile.latent - d < 16 ? tile.latent - d : 16;
    add_rows<Type, E, 1>(tile, state, first, count, rescale, d, n);
  }
}

template <class Type, int E = register_entries>
inline void attend_some_rows(const LatentTile& tile, const RunningSoftmax& state, int entries,
                             int first, int64_t count) {
  if (entries >= E) return attend_rows<Type, E>(tile, state, first, count);
  if constexpr (E > 1) attend_some_rows<Type, E - 1>(tile, state, entries, first, count);
}

// How many entries from e on (register_entries at most) see the same keys as it, of those up to
// `limit`. They go together; which entries share a pass changes nothing in what is computed for
// each.
inline int32_t alike(const LatentTile& tile, int32_t e, int64_t limit) {
  const auto end = [&](int32_t entry) { return clamp(tile.end[entry], 0, limit); };
  int32_t count = 1;
  while (e + count < tile.entries && count < register_entries && end(e + count) == end(e) &&
         (tile.selected == nullptr || tile.selected[e + count] == tile.selected[e]))
    ++count;
  return count;
}

// All entries see the keys up to their end: block after block, each for all entries.
template <class Type>
inline void attend_all_keys(const LatentTile& tile, const RunningSoftmax& state) {
  int64_t end = 0;
  for (int32_t e = 0; e < tile.entries; ++e) end = tile.end[e] > end ? tile.end[e] : end;
  for (int64_t from = 0; from < end; from += tile.page_tokens) {
    const int64_t limit = from + tile.page_tokens;
    for (int32_t e = 0; e < tile.entries;) {
      const int32_t same = alike(tile, e, limit);
      int64_t position = from;
      const int64_t count = list_keys<Type>(tile, nullptr, tile.end[e], position);
      if (count > 0) attend_some_rows<Type>(tile, state, same, e, count);
      e += same;
    }
  }
}

// Each row sees keys of its own: row after row, blocks of what it sees.
template <class Type>
inline void attend_selected_keys(const LatentTile& tile, const RunningSoftmax& state) {
  for (int32_t e = 0; e < tile.entries;) {
    const int32_t same = alike(tile, e, tile.end[e]);
    int64_t position = 0;
    while (const int64_t count = list_keys<Type>(tile, tile.selected[e], tile.end[e], position))
      attend_some_rows<Type>(tile, state, same, e, count);
    e += same;
  }
}

template <class Type>
void attend_latent(const LatentTile& tile) {
  const RunningSoftmax state =
      start_softmax(tile.scratch, tile.latent, tile.page_tokens, tile.entries, nullptr);
  if (tile.selected == nullptr) {
    attend_all_keys<Type>(tile, state);
  } else {
    attend_selected_keys<Type>(tile, state);
  }
  finish_softmax(state, tile.entries, tile.latent, tile.out);
}

}  // namespace
}  // namespace dure
