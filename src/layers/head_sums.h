// RMS norms over heads that lie spread over the tp ranks: every rank contributes its heads' sums of
// squares to a vector of all heads (adding zeros is exact), and adds them in head order, so the
// bits do not depend on the split.
#pragma once

#include "layers/runtime.h"

namespace dure {

class HeadSums {
 public:
  // Of `all` heads of `head_dim` each, for `rows` rows: in StepBuffer::norm_sums, zeros at first.
  HeadSums(const Runtime& runtime, int64_t rows, int64_t all, int64_t head_dim);

  // x: [rows, heads, head_dim], rows `stride` apart, which are heads `at` on.
  void contribute(const float* x, int64_t heads, int64_t stride, int64_t at) const;
  // Between contributions and norms, where a norm is over heads of more than one rank.
  void exchange(std::string_view what) const;
  // x[rows, held heads] *= w / sqrt(mean square of heads [first, first + heads) + eps).
  void normalise(float* x, int64_t held, int64_t stride, int64_t first, int64_t heads,
                 const float* w) const;

 private:
  const Runtime& runtime_;
  int64_t rows_;
  int64_t all_;
  int64_t head_dim_;
  float* sums_;    // [rows, all]
  float* totals_;  // [rows]
};

}  // namespace dure
