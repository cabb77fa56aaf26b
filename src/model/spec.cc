// See spec.h.
#include "model/spec.h"

#include <algorithm>

namespace dure {

int64_t recompute_beyond(const ModelSpec& spec) {
  int64_t smallest = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto* gqa = std::get_if<GqaSpec>(&layer.attention);
    if (gqa == nullptr || gqa->rope.kind != RopeKind::longrope) continue;
    const int64_t context = gqa->rope.original_context;
    smallest = smallest == 0 ? context : std::min(smallest, context);
  }
  return smallest;
}

}  // namespace dure
