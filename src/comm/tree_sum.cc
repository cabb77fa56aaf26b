// See tree_sum.h.
#include "comm/tree_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace dure {
namespace {

void add(const float* a, const float* b, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    out[i] = sum == sum ? sum : std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace

void tree_sum(std::span<float* const> pieces, size_t count, float* out) {
  DURE_CHECK(pieces.size() >= 2);
  constexpr size_t block = 4096;  // of every piece; stays in the core's own cache between levels
  for (size_t at = 0; at < count; at += block) {
    const size_t n = std::min(block, count - at);
    for (size_t stride = 1; stride < pieces.size(); stride *= 2) {
      const bool last = 2 * stride >= pieces.size();
      for (size_t p = 0; p + stride < pieces.size(); p += 2 * stride) {
        add(pieces[p] + at, pieces[p + stride] + at, (last ? out : pieces[p]) + at, n);
      }
    }
  }
}

}  // namespace dure
