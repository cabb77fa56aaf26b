// Lengths of requests as load generators draw them: uniform between a share of the nominal one and
// all of it. The same draws each time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dure {

class Lengths {
 public:
  explicit Lengths(double shortest) : shortest_(shortest) {}

  int64_t draw(int64_t nominal) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
    const double uniform = static_cast<double>(random_ >> 11) / 9007199254740992.0;
    const double share = shortest_ + (1.0 - shortest_) * uniform;
    return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(nominal) * share), 1);
  }

 private:
  double shortest_;
  uint64_t random_ = 1;
};

}  // namespace dure
