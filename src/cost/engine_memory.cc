// See engine_memory.h.
#include "cost/engine_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "cost/engine_activation.h"
#include "cost/engine_weights.h"
#include "cost/fit.h"

namespace dure {
namespace {

constexpr int64_t mib = int64_t{1} << 20;

int64_t context_of(const MemoryModel& model, const EngineRun& run) {
  return run.max_len > 0 ? run.max_len : model.spec().context;
}

int64_t batch_of(const MemoryModel& model, const EngineRun& run) {
  if (run.batch_tokens > 0) return run.batch_tokens;
  constexpr int64_t longest_whole_prompt = 32768;  // longer ones come in chunks
  const int64_t context = context_of(model, run);
  if (run.profile.whole_prompts && context <= longest_whole_prompt) {
    return std::max(context, run.profile.batch_tokens);
  }
  return run.profile.batch_tokens;
}

// Recorded steps: some 50 batch sizes, each with a quarter of a MiB for each layer's launches.
int64_t graph_bytes(const RankShare& share) {
  constexpr int64_t sizes = 51;
  return sizes * share.layers.size() * mib / 4;
}

// The share that SGLang leaves to everything but weights and cache, in its own terms: a constant, a
// largest prefill, recorded steps, and more for wide groups.
int64_t sglang_reserve(const EngineRun& run, const Layout& layout) {
  constexpr int64_t constant = 512 * mib;
  constexpr int64_t least_on_large = 10 * 1024 * mib;
  constexpr int64_t large = 60 * 1024 * mib;
  const int64_t chunk = run.batch_tokens > 0 ? run.batch_tokens : run.profile.batch_tokens;
  const int64_t prefill = std::max<int64_t>(chunk, 2048) * 3 / 2 * mib;
  const int64_t graphs = run.profile.max_sequences * 2 * mib;
  const int64_t wide = static_cast<int64_t>(layout.tp) * layout.pp * 128 * mib;
  const int64_t reserve = constant + prefill + graphs + wide;
  return run.gpu_bytes > large ? std::max(reserve, least_on_large) : reserve;
}

}  // namespace

double engine_utilization(const EngineRun& run, const Layout& layout) {
  if (run.utilization > 0) return run.utilization;
  if (run.profile.utilization > 0) return run.profile.utilization;
  const double share =
      1.0 - static_cast<double>(sglang_reserve(run, layout)) / static_cast<double>(run.gpu_bytes);
  return std::max(0.01, std::round(share * 1000.0) / 1000.0);
}

RankMemory engine_rank_memory(const MemoryModel& model, const EngineRun& run, const Layout& layout,
                              int rank) {
  const EngineProfile& profile = run.profile;
  DURE_CHECK(profile.engine != Engine::dure);
  const RankShare share = share_of(model.spec(), layout, rank);
  const int64_t tokens = batch_of(model, run);
  RankMemory memory;
  memory.weights = engine_weights(model, profile, layout, rank, run.element_bytes);
  memory.activation =
      activation_peak(model.spec(), profile, layout, share, tokens, run.element_bytes).most();
  // What an encoder makes of as many image tokens as a step takes.
  if (model.spec().vision_parameters > 0)
    memory.activation += tokens * model.spec().hidden * run.element_bytes;
  memory.overhead = profile.context;
  if (layout.tp > 1) memory.communication = profile.group + layout.tp * profile.group_peer;
  memory.communication += gpu_dispatch_workspace(model.spec(), layout, tokens);
  memory.cuda_graphs = graph_bytes(share);
  if (profile.budget == Budget::of_free_at_start) {
    memory.outside = memory.total() - memory.weights;
  } else if (!profile.graphs_inside) {
    memory.outside = memory.cuda_graphs;
  }
  return memory;
}

int64_t engine_budget(const MemoryModel& model, const EngineRun& run, const Layout& layout) {
  const double share = engine_utilization(run, layout);
  const auto part = [share](int64_t bytes) {
    return static_cast<int64_t>(static_cast<double>(bytes) * share);
  };
  switch (run.profile.budget) {
    case Budget::of_total:
      return part(run.gpu_bytes);
    case Budget::of_free_at_start:
      return part(run.gpu_bytes - run.profile.context);
    case Budget::of_what_is_left:
      break;
  }
  const int64_t needed = engine_rank_memory(model, run, layout, 0).charged();
  return needed < run.gpu_bytes ? needed + part(run.gpu_bytes - needed) : run.gpu_bytes;
}

EngineCapacity engine_capacity(const MemoryModel& model, const EngineRun& run,
                               const Layout& layout) {
  EngineCapacity capacity;
  capacity.tokens = std::numeric_limits<int64_t>::max();
  const int64_t budget = engine_budget(model, run, layout);
  // Ranks of one stage differ by a head or a row; the first of each stands for them.
  for (int stage = 0; stage < layout.pp; ++stage) {
    const int rank = rank_of(layout, stage, 0, 0);
    const int64_t pool = budget - engine_rank_memory(model, run, layout, rank).charged();
    if (stage == 0) capacity.pool = pool;
    const CacheCapacity cache =
        cache_capacity(model.spec(), run.profile, layout, share_of(model.spec(), layout, rank),
                       {pool, run.kv_element_bytes, context_of(model, run), batch_of(model, run)});
    capacity.known = capacity.known && cache.known;
    if (cache.tokens < capacity.tokens) {
      capacity.tokens = cache.tokens;
      capacity.sequences = cache.sequences;
    }
  }
  return capacity;
}

}  // namespace dure
