// See cache_room.h.
#include "plan/cache_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"

namespace dure {
namespace {

constexpr int most_stages_asked = 4;

CacheRoom room_of_rank(const MemoryModel& model, const FitQuestion& question, int64_t budget,
                       int rank) {
  const Layout& layout = question.layout;
  RunShape shape = question.shape_for(model.spec(), layout.dp);
  shape.states = 0;
  shape.pages = 0;
  CacheRoom room;
  room.budget = budget;
  if (question.engine) {
    room.memory = engine_rank_memory(model, *question.engine, layout, rank);
  } else {
    room.memory = model.of(layout, rank, shape);
    room.memory.communication +=
        gpu_dispatch_workspace(model.spec(), layout, shape.max_batch_tokens);
  }
  room.free = room.budget - room.memory.charged();
  const RankShare share = share_of(model.spec(), layout, rank);
  room.sequence = sequence_bytes(model.spec(), layout, share, shape);
  const int64_t most = std::numeric_limits<int32_t>::max();
  if (room.free >= 0) {
    room.sequences = room.sequence == 0 ? most : std::min(room.free / room.sequence, most);
  }
  return room;
}

// Stages differ by the kinds of their layers, ranks of a stage by what is left over in a cut.
std::vector<int> telling_ranks(const Layout& layout) {
  const int stages = layout.pp <= most_stages_asked ? layout.pp : 2;
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(stages) + 2);
  for (int stage = 0; stage < stages; ++stage) ranks.push_back(stage * layout.stage_ranks());
  if (layout.stage_ranks() > 1) ranks.push_back(layout.stage_ranks() - 1);
  if (layout.world() - 1 > ranks.back()) ranks.push_back(layout.world() - 1);
  return ranks;
}

}  // namespace

FitQuestion fit_question(const PlanQuestion& question, const Layout& layout, const KvFormat& kv,
                         int64_t chunk, int64_t sequences) {
  FitQuestion fit;
  fit.layout = layout;
  fit.shape.compute = Compute::bf16;
  fit.shape.kv_element_bytes = kv.bytes;
  fit.shape.windows_apart = true;
  fit.shape.max_batch_tokens = chunk;
  fit.shape.overhead = gpu_overhead;
  fit.memory_bytes = question.gpu.usable_bytes;
  fit.utilization = question.utilization > 0.0 ? question.utilization : gpu_utilization;
  fit.ranks_per_node = question.gpus_per_node;
  fit.context = question.input + question.output;
  fit.sequences = sequences;
  if (question.engine != Engine::dure) {
    ask_for_engine(
        engine_profile(question.engine, question.engine_version, question.gpu.usable_bytes),
        question.utilization, chunk, fit);
  }
  return fit;
}

int64_t usual_chunk(const PlanQuestion& question) {
  constexpr int64_t of_dure = 8192;
  if (question.engine == Engine::dure) return of_dure;
  return engine_profile(question.engine, question.engine_version, question.gpu.usable_bytes)
      .batch_tokens;
}

CacheRoom room_of(const MemoryModel& model, const FitQuestion& question) {
  const auto tightness = [](const CacheRoom& c) { return std::pair(c.sequences, c.free); };
  const int64_t budget = budget_of(model, question, question.layout);
  std::optional<CacheRoom> tightest;
  for (const int rank : telling_ranks(question.layout)) {
    const CacheRoom room = room_of_rank(model, question, budget, rank);
    if (!tightest || tightness(room) < tightness(*tightest)) tightest = room;
    if (room.free < 0) break;
  }
  return *tightest;
}

std::string why_it_does_not_fit(const CacheRoom& room) {
  const RankMemory& memory = room.memory;
  if (room.free >= 0) {
    return fmt::format("one sequence's cache takes {} a rank, {} are left beside weights of {}",
                       format_bytes(room.sequence), format_bytes(room.free),
                       format_bytes(memory.weights + memory.padding));
  }
  const int64_t weights = memory.weights + memory.padding;
  const std::string missing = format_bytes(-room.free) + " missing";
  if (weights > room.budget) {
    return fmt::format("{}: weights alone {} a rank, {} usable", missing, format_bytes(weights),
                       format_bytes(room.budget));
  }
  std::vector<std::pair<int64_t, const char*>> kinds = {{memory.activation, "activations"},
                                                        {memory.communication, "communication"},
                                                        {memory.overhead, "overhead"},
                                                        {memory.cuda_graphs, "recorded steps"}};
  std::sort(kinds.rbegin(), kinds.rend());
  return fmt::format("{}: weights {} leave {} a rank, {} take {} of it", missing,
                     format_bytes(weights), format_bytes(room.budget - weights), kinds[0].second,
                     format_bytes(kinds[0].first));
}

}  // namespace dure
