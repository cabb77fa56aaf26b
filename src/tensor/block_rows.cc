// See block_rows.h.
#include "tensor/block_rows.h"

#include <algorithm>
#include <vector>

namespace dure {

void BlockRows::decode(const std::byte* kept, Range held, int64_t output, float* to) const {
  const Range blocks = blocks_of(held);
  const int64_t values = size_of(format).values;
  const int64_t first = blocks.begin * values;
  std::vector<float> row(static_cast<size_t>(blocks.size() * values));
  decode_blocks(format, kept + output * row_bytes(held), blocks.size(), row.data());
  if (scales) {
    const ScaledRow scaled(*scales, scales_of(held), kept + count * row_bytes(held), output, held);
    scaled.apply(first, blocks.size() * values, row.data());
  }
  std::copy_n(row.data() + (held.begin - first), held.size(), to);
}

}  // namespace dure
