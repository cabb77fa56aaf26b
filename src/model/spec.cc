// See spec.h.
#include "model/spec.h"

#include <algorithm>

namespace dure {

int64_t query_heads(const AttentionSpec& attention) {
  return std::visit(
      [](const auto& kind) -> int64_t {
        if constexpr (requires { kind.heads; }) {
          return kind.heads;
        } else {
          return 1;
        }
      },
      attention);
}

int64_t kv_heads(const AttentionSpec& attention) {
  if (const auto* gqa = std::get_if<GqaSpec>(&attention)) return gqa->kv_heads;
  if (const auto* delta = std::get_if<DeltaNetSpec>(&attention)) return delta->key_heads;
  if (const auto* mamba = std::get_if<Mamba2Spec>(&attention)) return mamba->groups;
  return 1;
}

std::optional<int64_t> window_of(const AttentionSpec& attention) {
  if (const auto* gqa = std::get_if<GqaSpec>(&attention)) return gqa->window;
  return std::nullopt;
}

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
