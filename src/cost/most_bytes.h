// Products and sums of sizes that a question may ask for but nobody could build: they stop at a
// bound instead of wrapping.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dure {

constexpr int64_t most_bytes = int64_t{1} << 60;

// Neither is negative.
inline int64_t bounded_product(int64_t count, int64_t bytes) {
  int64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? most_bytes
                                                        : std::min(product, most_bytes);
}

// Both are at most most_bytes.
inline int64_t bounded_sum(int64_t a, int64_t b) {
  return std::min(a + b, most_bytes);
}

}  // namespace dure
