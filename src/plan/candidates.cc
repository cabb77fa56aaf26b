// See candidates.h.
#include "plan/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cost/shard.h"

namespace dure {
namespace {

constexpr int widest_tp = 64;

std::vector<int> sizes_up_to(int most, int gpus, bool every_size) {
  std::vector<int> sizes;
  for (int size = 1; size <= most; ++size) {
    const bool power = (size & (size - 1)) == 0;
    if (power || gpus % size == 0 || every_size) sizes.push_back(size);
  }
  return sizes;
}

int64_t most_experts(const ModelSpec& spec) {
  int64_t most = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe != nullptr) most = std::max(most, moe->experts);
  }
  return most;
}

bool is_power(int n) {
  return (n & (n - 1)) == 0;
}

// Whole experts, experts cut over all ranks, and what lies between by doublings.
std::vector<int> expert_sizes(int stage_ranks, int64_t experts, bool every_size) {
  std::vector<int> sizes;
  for (int ep = 1; ep <= std::min<int64_t>(stage_ranks, experts); ++ep) {
    if (stage_ranks % ep != 0) continue;
    if (every_size || ep == stage_ranks || is_power(ep) || is_power(stage_ranks / ep)) {
      sizes.push_back(ep);
    }
  }
  return sizes;
}

std::optional<std::string> uneven_heads(const ModelSpec& spec, int tp) {
  for (const LayerSpec& layer : spec.layers) {
    const int64_t heads = query_heads(layer.attention);
    if (heads % tp == 0 || heads == 1) continue;
    return fmt::format("{} heads do not divide over tp {}", heads, tp);
  }
  return std::nullopt;
}

// Blocks of weights that share a scale are not cut by engines with kernels for whole blocks.
std::optional<std::string> cuts_blocks(const ModelSpec& spec, const Layout& layout) {
  if (spec.scale_block.empty()) return std::nullopt;
  const int64_t block = spec.scale_block[0];
  const auto refuse = [&](const char* what, int64_t width,
                          int parts) -> std::optional<std::string> {
    if (width % parts == 0 && (width / parts) % block == 0) return std::nullopt;
    return fmt::format("{} of width {} over {} ranks cut the blocks of {} that share a scale", what,
                       width, parts, block);
  };
  for (const LayerSpec& layer : spec.layers) {
    std::optional<std::string> why;
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
      why = refuse("experts", moe->intermediate, layout.etp());
      if (!why && moe->shared && moe->shared->intermediate % layout.tp != 0) {
        why = refuse("shared experts", moe->shared->intermediate, layout.tp);
      }
    } else if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
      why = refuse("matrices", dense->intermediate, layout.tp);
    }
    if (why) return why;
  }
  return std::nullopt;
}

}  // namespace

bool has_experts(const ModelSpec& spec) {
  return most_experts(spec) > 0;
}

std::vector<Layout> candidate_layouts(const ModelSpec& spec, int gpus, bool every_size) {
  const int64_t experts = most_experts(spec);
  const int most_stages = static_cast<int>(std::min<size_t>(spec.layers.size(), gpus));
  std::vector<Layout> layouts;
  for (const int tp : sizes_up_to(std::min(gpus, widest_tp), gpus, every_size)) {
    for (const int pp : sizes_up_to(std::min(gpus / tp, most_stages), gpus, every_size)) {
      for (const int dp : sizes_up_to(gpus / tp / pp, gpus, every_size)) {
        if (dp > 1 && experts == 0) break;
        for (const int ep : expert_sizes(tp * dp, std::max<int64_t>(experts, 1), every_size)) {
          layouts.push_back({tp, pp, dp, ep});
        }
      }
    }
  }
  return layouts;
}

Placement place(const Layout& layout, int gpus, int gpus_per_node) {
  Placement placement;
  const int world = layout.world();
  const int whole = gpus / gpus_per_node;
  const int rest = gpus % gpus_per_node;
  placement.ranks_per_node = world;
  if (world <= gpus_per_node) {
    placement.replicas = whole * (gpus_per_node / world) + rest / world;
    if (placement.replicas == 0) placement.why = fmt::format("{} ranks for {} GPUs", world, gpus);
  } else {
    placement.nodes_each = (world + gpus_per_node - 1) / gpus_per_node;
    placement.ranks_per_node = world / placement.nodes_each;
    const int here = placement.ranks_per_node;
    const bool equal = world % placement.nodes_each == 0;
    const bool straddles = here % layout.tp != 0 && layout.tp % here != 0;
    placement.replicas = equal && !straddles ? whole / placement.nodes_each : 0;
    if (equal && straddles) {
      placement.why = fmt::format("groups of tp {} would lie across nodes of {} ranks", layout.tp,
                                  placement.ranks_per_node);
    } else if (!equal) {
      placement.why = fmt::format("{} ranks do not divide over {} nodes of up to {} GPUs", world,
                                  placement.nodes_each, gpus_per_node);
    } else if (placement.replicas == 0) {
      placement.why =
          fmt::format("{} ranks need {} equal nodes: {} GPUs are {} of {} and one of {}", world,
                      placement.nodes_each, gpus, whole, gpus_per_node, rest);
    }
  }
  placement.idle = gpus - placement.replicas * world;
  return placement;
}

std::optional<std::string> engine_refuses(const ModelSpec& spec, const Layout& layout,
                                          Engine engine,
                                          const std::optional<WeightFormat>& weights) {
  try {
    check_layout_for(spec, layout);
  } catch (const Error& error) {
    return error.message();
  }
  if (engine == Engine::dure) return std::nullopt;
  if (const auto why = uneven_heads(spec, layout.tp))
    return fmt::format("{}: {}", to_string(engine), *why);
  const bool whole_or_cut = layout.ep == 1 || layout.ep == layout.stage_ranks();
  if (engine == Engine::vllm && !whole_or_cut) {
    return fmt::format("vllm: experts are whole (ep {}) or cut over all ranks (ep 1), not ep {}",
                       layout.stage_ranks(), layout.ep);
  }
  if (engine == Engine::trtllm && layout.tp > 1 && layout.dp > 1) {
    return fmt::format("trtllm: attention is split (dp 1) or copied (tp 1), not tp {} × dp {}",
                       layout.tp, layout.dp);
  }
  if (weights && weights->name == "fp8") {
    if (const auto why = cuts_blocks(spec, layout))
      return fmt::format("{}: {}", to_string(engine), *why);
  }
  return std::nullopt;
}

}  // namespace dure
