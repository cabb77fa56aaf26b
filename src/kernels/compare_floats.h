// For tests: equal to the bit, NaNs and signs of zeros too.
#pragma once

#include <cstring>
#include <vector>

namespace dure {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace dure
