// Rows of an embedding that lie in the file's blocks: so few are read in a step that they are
// decoded when they are.
#pragma once

#include <cstdint>
#include <span>

#include "layers/weights.h"
#include "tensor/packed_shape.h"

namespace dure {

// As Backend::embed: out[i] = row ids[i] for ids in `vocab`, else zeros. out: [ids, hidden].
void embed_blocks(const EmbeddingTable& table, Range vocab, int64_t hidden,
                  std::span<const int32_t> ids, float* out);

}  // namespace dure
