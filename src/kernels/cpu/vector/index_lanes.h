// The scores by which sparse attention chooses its keys, over Lanes. Include after one lanes_*.h.
#pragma once

#include "kernels/cpu/vector/dot_lanes.h"
#include "kernels/cpu/vector/kernel_table.h"

namespace dure {
namespace {

template <class Type>
void score_index(const IndexTile& tile) {
  using Stored = typename Type::Stored;
  for (int64_t i = 0; i < tile.heads * 16; ++i) tile.scratch[i] = 0.0f;
  for (int64_t from = tile.begin; from < tile.end; from += 16) {
    const int64_t count = tile.end - from < 16 ? tile.end - from : 16;
    const Stored* keys[16];
    for (int64_t k = 0; k < count; ++k) {
      const int64_t page = tile.pages[(from + k) / tile.page_tokens];
      keys[k] = reinterpret_cast<const Stored*>(tile.keys + page * tile.page_bytes) +
                (from + k) % tile.page_tokens * tile.dim;
    }
    each_dot<Type>(
        tile.heads, count, tile.dim, [&](int64_t head) { return tile.q + head * tile.dim; },
        [&](int64_t k) { return keys[k]; },
        [&](int64_t head, int64_t k, float dot) { tile.scratch[head * 16 + k] = dot; });
    Lanes score = zero();
    for (int64_t head = 0; head < tile.heads; ++head)  // max keeps a NaN that comes second
      score = fma(all(tile.weights[head]), max(zero(), load(tile.scratch + head * 16)), score);
    store_first(tile.scores + (from - tile.begin), count, score);
  }
}

}  // namespace
}  // namespace dure
