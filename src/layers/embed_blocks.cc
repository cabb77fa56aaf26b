// See embed_blocks.h.
#include "layers/embed_blocks.h"

#include <algorithm>

namespace dure {

void embed_blocks(const EmbeddingTable& table, Range vocab, int64_t hidden,
                  std::span<const int32_t> ids, float* out) {
  const BlockSize block = size_of(*table.blocks);
  const int64_t blocks = hidden / block.values;  // of a row
  for (const int32_t id : ids) {
    if (id >= vocab.begin && id < vocab.end) {
      const std::byte* row = table.rows + (id - vocab.begin) * blocks * block.bytes;
      decode_blocks(*table.blocks, row, blocks, out);
    } else {
      std::fill_n(out, hidden, 0.0f);
    }
    out += hidden;
  }
}

}  // namespace dure
