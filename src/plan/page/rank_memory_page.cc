// See rank_memory_page.h.
#include "plan/page/rank_memory_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cost/engine_weights.h"
#include "plan/cache_room.h"

namespace dure {
namespace {

constexpr size_t memory_kinds = 11;
constexpr std::array<std::array<const char*, 2>, memory_kinds> names = {{
    {"attention", "attention weights"},
    {"dense", "dense feed-forward and shared experts"},
    {"experts", "routed experts"},
    {"embedding", "embedding and head"},
    {"other", "norms, routers, tables"},
    {"padding", "padding of packed weights"},
    {"kv", "KV cache of this load"},
    {"activation", "activations"},
    {"communication", "communication"},
    {"overhead", "overhead of the process"},
    {"graphs", "recorded steps (CUDA graphs)"},
}};
using Bytes = std::array<int64_t, memory_kinds>;

WeightKinds weights_of(const MemoryModel& model, const PlanQuestion& question, const Layout& layout,
                       int rank) {
  if (question.engine == Engine::dure) return weight_kinds(model, layout, rank, Compute::bf16);
  const EngineProfile profile =
      engine_profile(question.engine, question.engine_version, question.gpu.usable_bytes);
  return engine_weight_kinds(model, profile, layout, rank, bytes_of(DType::bf16));
}

// Ranks that a plan counts alike.
struct Alike {
  int64_t layers = 0;
  int64_t experts = 0;
  int64_t free = 0;
  Bytes bytes = {};
  bool operator==(const Alike&) const = default;
};

// Without the weights by kind, which take long: they are equal where the rest is.
Alike told_by_plan(const PlannedRank& rank) {
  const RankMemory& memory = rank.memory;
  return {rank.layers.size(),
          rank.experts.size(),
          rank.free,
          {0, 0, 0, 0, memory.weights, memory.padding, memory.kv, memory.activation,
           memory.communication, memory.overhead, memory.cuda_graphs}};
}

Json bar_json(const MemoryModel& model, const PlanQuestion& question, const Layout& layout,
              const PlannedRank& first, std::span<const int> ranks, Bytes bytes) {
  const WeightKinds kinds = weights_of(model, question, layout, first.place.rank);
  bytes[0] = kinds.attention;
  bytes[1] = kinds.dense;
  bytes[2] = kinds.experts;
  bytes[3] = kinds.embedding;
  bytes[4] = kinds.other;
  const int64_t budget = first.memory.charged() + first.free;
  // Of the GPU's memory: what the engine neither takes nor is given.
  const int64_t spare = question.gpu.usable_bytes - budget - first.memory.outside;
  return {{"ranks", numbers_text(ranks)},
          {"count", ranks.size()},
          {"layers", first.layers.size()},
          {"experts", first.experts.size()},
          {"bytes", bytes},
          {"total", first.memory.total()},
          {"free", first.free},
          {"spare", std::max<int64_t>(spare, 0)},
          {"budget", budget},
          {"charged", first.memory.charged()}};
}

}  // namespace

Json memory_kinds_json() {
  Json json = Json::array();
  for (const auto& [key, words] : names) json.push_back({key, words});
  return json;
}

std::string numbers_text(std::span<const int> numbers) {
  constexpr size_t most_pieces = 4;
  std::vector<std::string> pieces;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    pieces.push_back(first == last ? fmt::format("{}", numbers[first])
                                   : fmt::format("{}–{}", numbers[first], numbers[last]));
    first = last + 1;
  }
  if (pieces.size() > most_pieces) {
    pieces.erase(pieces.begin() + most_pieces - 1, pieces.end() - 1);
    pieces.insert(pieces.end() - 1, "…");
  }
  return fmt::format("{}", fmt::join(pieces, ", "));
}

RankGroups equal_ranks(std::span<const PlannedRank> ranks) {
  std::vector<Alike> kinds;
  RankGroups groups;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Alike alike = told_by_plan(ranks[rank]);
    const auto at =
        static_cast<size_t>(std::find(kinds.begin(), kinds.end(), alike) - kinds.begin());
    if (at == kinds.size()) {
      kinds.push_back(alike);
      groups.ranks.emplace_back();
    }
    groups.ranks[at].push_back(static_cast<int>(rank));
    groups.of.push_back(static_cast<int>(at));
  }
  return groups;
}

Json memory_json(const MemoryModel& model, const PlanQuestion& question, const Layout& layout,
                 std::span<const PlannedRank> ranks, const RankGroups& groups) {
  Json bars = Json::array();
  for (const std::vector<int>& group : groups.ranks) {
    const PlannedRank& first = ranks[static_cast<size_t>(group.front())];
    bars.push_back(bar_json(model, question, layout, first, group, told_by_plan(first).bytes));
  }
  return bars;
}

}  // namespace dure
