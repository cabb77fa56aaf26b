// See top_k.h.
#include "kernels/cpu/top_k.h"

#include <cmath>
#include <limits>

namespace dure {
namespace {

// Orders like the values, with NaN below -inf.
bool ranks_above(float a, float b) {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace

void select_top_k(const float* values, int64_t count, int64_t top_k, int32_t* ids) {
  // Insertion into the sorted list: few experts pass the first comparison once the list is full.
  int64_t held = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (held == top_k && !ranks_above(values[i], values[ids[held - 1]])) continue;
    int64_t slot = held < top_k ? held++ : top_k - 1;
    for (; slot > 0 && ranks_above(values[i], values[ids[slot - 1]]); --slot)
      ids[slot] = ids[slot - 1];
    ids[slot] = static_cast<int32_t>(i);
  }
}

}  // namespace dure
