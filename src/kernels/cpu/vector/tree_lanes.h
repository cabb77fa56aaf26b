// The binary tree over segments (sum_order.h), for register tiles of Lanes. Include after one
// lanes_*.h.
#pragma once

namespace dure {
namespace {

// Adds segment number `segment` of `count`, whose sums are in acc[N], to the tree kept in `tree`
// ([levels][N] Lanes). After the last one, acc holds the whole sum.
template <int N>
inline void add_segment(Lanes (&acc)[N], float* tree, int32_t segment, int32_t count) {
  int level = 0;
  for (int32_t carry = segment; carry & 1; carry >>= 1, ++level)
    for (int i = 0; i < N; ++i) acc[i] = load(tree + (level * N + i) * 16) + acc[i];
  if (segment + 1 < count) {
    for (int i = 0; i < N; ++i) store(tree + (level * N + i) * 16, acc[i]);
    return;
  }
  // The subtree that just ended is the smallest; the larger ones before it follow.
  for (++level; (count >> level) != 0; ++level) {
    if (((count >> level) & 1) == 0) continue;
    for (int i = 0; i < N; ++i) acc[i] = load(tree + (level * N + i) * 16) + acc[i];
  }
}

}  // namespace
}  // namespace dure
