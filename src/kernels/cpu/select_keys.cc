// See select_keys.h.
#include "kernels/cpu/select_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace dure {
namespace {

// Unsigned numbers that order as the floats do, NaN lowest, both zeros equal.
uint32_t order_of(float x) {
  if (std::isnan(x)) return 0;
  const auto bits = std::bit_cast<uint32_t>(x + 0.0f);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

void set_bit(std::span<uint64_t> words, int64_t i) {
  words[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
}

}  // namespace

void select_highest(const float* scores, int64_t count, int64_t top_k, std::span<uint32_t> order,
                    std::span<uint64_t> selected) {
  std::fill(selected.begin(), selected.end(), uint64_t{0});
  if (count <= top_k) {
    for (int64_t i = 0; i < count; ++i) set_bit(selected, i);
    return;
  }
  if (top_k <= 0) return;
  order = order.first(static_cast<size_t>(count));
  std::transform(scores, scores + count, order.begin(), order_of);
  const auto last = order.begin() + top_k - 1;
  std::nth_element(order.begin(), last, order.end(), std::greater<>());
  const uint32_t threshold = *last;
  // How many of those that equal the last one fit.
  int64_t equal =
      top_k - std::count_if(order.begin(), last, [&](uint32_t o) { return o > threshold; });
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t o = order_of(scores[i]);
    if (o > threshold || (o == threshold && equal-- > 0)) set_bit(selected, i);
  }
}

}  // namespace dure
