// Choosing the keys that sparse attention sees, shared by all CPU backends.
#pragma once

#include <cstdint>
#include <span>

namespace dure {

// Sets the bits of the top_k highest of `count` scores in `selected`, of all if there are no more,
// and clears the others. Equal scores: lower number first; NaN ranks below every number. `order`:
// scratch of `count` elements.
void select_highest(const float* scores, int64_t count, int64_t top_k, std::span<uint32_t> order,
                    std::span<uint64_t> selected);

}  // namespace dure
