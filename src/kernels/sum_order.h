// The orders in which kernels add, stated once. Every backend follows them, so that neither batch,
// threads, layout nor instruction set changes a bit (exceptions: exp, tanh and log1p differ between
// the reference and the vector backends, and dpbf16ps rounds in its own way).
//
// - A product adds its inputs in order with fused multiply-adds, from +0, one sum per segment; the
//   segments' sums are added by BinaryTree.
// - A sum over a row (norms, softmax, products of a query with a latent row) keeps 16 running sums,
//   element i in sum i mod 16, and adds these as a binary tree of halves: s[j] + s[j + 8], then +
//   4,
//   + 2, + 1. In softmax i counts within a block of keys.
// Not for files compiled for one ISA.
#pragma once

#include <cstdint>

namespace dure {

inline constexpr int sum_lanes = 16;

// lanes[16] are overwritten.
inline float add_lanes(float* lanes) {
  for (int half = sum_lanes / 2; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}

// Adds terms as they come in the shape of a binary tree: ((0 + 1) + (2 + 3)) + ..., like carries of
// a binary counter. A count that is no power of two leaves complete subtrees of falling size, which
// are added from the last (smallest) to the first: 7 terms give ((01)(23)) + ((45) + 6).
// No terms: +0.
class BinaryTree {
 public:
  void push(float term) {
    int level = 0;
    for (int64_t carry = count_; carry & 1; carry >>= 1) term = level_[level++] + term;
    level_[level] = term;
    ++count_;
  }

  float sum() const {
    float total = 0.0f;
    bool empty = true;
    int level = 0;
    for (int64_t left = count_; left != 0; left >>= 1, ++level) {
      if ((left & 1) == 0) continue;
      total = empty ? level_[level] : level_[level] + total;
      empty = false;
    }
    return total;
  }

 private:
  float level_[63] = {};  // sum of a complete subtree of 2^level terms, where count_ has that bit
  int64_t count_ = 0;
};

}  // namespace dure
