// Choosing the k largest of a row, shared by all CPU backends.
#pragma once

#include <cstdint>

namespace dure {

// ids[top_k]: the numbers of the top_k largest values in falling order; equal values: lower number
// first. NaN ranks below every number, so ids are always distinct and in range. Needs 1 <= top_k <=
// count.
void select_top_k(const float* values, int64_t count, int64_t top_k, int32_t* ids);

}  // namespace dure
