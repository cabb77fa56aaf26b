// The one order in which the ranks' partial sums are added: neighbours first, level by level, an
// odd last one carried up. Four pieces: (0 + 1) + (2 + 3); five: ((0 + 1) + (2 + 3)) + 4.
#pragma once

#include <cstddef>
#include <span>

namespace dure {

// out[i] = sum over pieces of pieces[p][i], in the order above, for i < count. `out` may be one of
// the pieces; all pieces are overwritten. A sum that is not a number becomes the one quiet NaN
// 0x7fc00000, so that its bits too are the same on every rank.
void tree_sum(std::span<float* const> pieces, size_t count, float* out);

}  // namespace dure
