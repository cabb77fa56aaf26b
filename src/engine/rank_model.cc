// See rank_model.h.
#include "engine/rank_model.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cost/step_buffers.h"
#include "engine/load_weights.h"
#include "kernels/sample.h"
#include "model/load_spec.h"

namespace dure {
namespace {

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

int32_t choose_token(const float* logits, int64_t vocab, const SamplingParams& params,
                     const Slice& slice) {
  SampleSpec spec;
  spec.temperature = params.temperature;
  spec.top_p = params.top_p;
  spec.min_p = params.min_p;
  spec.top_k = params.top_k;
  spec.seed = params.seed;
  // The counter is the position that the new token will have.
  const auto position = static_cast<uint64_t>(slice.start) + slice.tokens.size();
  return sample({logits, static_cast<size_t>(vocab)}, spec, position);
}

}  // namespace

RankModel::RankModel(const StartGroup& start, World& world)
    : start_(start),
      world_(world),
      spec_(load_spec(start.model)),
      layout_(start.layout),
      share_(share_of(spec_, start.layout, world.rank())) {
  check_layout_for(spec_, layout_);
  checkpoint_ = CheckpointReader::open(start.model);
  inventory_ = bind_inventory(spec_, *checkpoint_);
  residents_ = resident_weights(inventory_, spec_, layout_, share_, start.compute);
  bytes_to_load_ = bytes_to_read(residents_);
  limits_.vocab = spec_.vocab;
  limits_.page_tokens = start.page_tokens;
  limits_.pages = start.pages;
  limits_.states = start.states;
  limits_.context = start.context;
  limits_.max_batch_tokens = start.max_batch_tokens;
  sampling_.resize(static_cast<size_t>(std::max(0, start.states)));
}

void RankModel::load() {
  const auto begin = std::chrono::steady_clock::now();
  backend_ = make_cpu_backend(start_.threads);
  weights_ = load_weights(*checkpoint_, residents_, spec_, layout_, share_, start_.threads,
                          &bytes_loaded_);
  workspace_ = std::make_unique<Workspace>(
      step_buffers(spec_, layout_, share_, start_.max_batch_tokens, start_.context));
  runtime_.reset(new Runtime{spec_, layout_, share_, *backend_, world_, *workspace_, start_.compute,
                             start_.capacity});
  cache_ = std::make_unique<KvCache>(spec_, layout_, share_, start_.kv_dtype, start_.pages,
                                     start_.page_tokens, start_.states);
  stage_ = std::make_unique<Stage>(*runtime_, weights_, *cache_);
  peak_rss_bytes_ = peak_rss_bytes();
  load_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

RankReport RankModel::report() const {
  RankReport report;
  report.rank = share_.place.rank;
  report.pid = getpid();
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  report.host = host;
  report.isa = backend_->isa();
  for (const Resident& resident : residents_) report.weight_bytes += resident.bytes();
  report.kv_bytes = cache_->bytes();
  report.activation_bytes = workspace_->activation_bytes();
  report.communication_bytes = workspace_->communication_bytes();
  report.peak_rss_bytes = peak_rss_bytes_;
  report.load_s = load_s_;
  return report;
}

GroupStats RankModel::stats() const {
  GroupStats stats;
  const auto world = static_cast<size_t>(layout_.world());
  const auto rank = static_cast<size_t>(share_.place.rank);
  stats.layers = static_cast<int32_t>(spec_.layers.size());
  stats.experts = static_cast<int32_t>(stage_->widest_experts());
  stats.expert_tokens = stage_->expert_tokens();
  // The tp ranks of a dp group route the same tokens: one of them counts.
  const ExpertCounts& counts = stage_->expert_counts();
  if (share_.place.tp != 0) {
    std::fill(stats.expert_tokens.begin(), stats.expert_tokens.end(), 0);
  } else {
    stats.dropped_slots = counts.slots.dropped;
    stats.moved_slots = counts.slots.moved;
  }
  const CommCounters counters = world_.counters();
  stats.rank_expert_tokens.assign(world, 0);
  stats.rank_expert_tokens[rank] = counts.computed_rows;
  stats.rank_sent_bytes.assign(world, 0);
  stats.rank_sent_bytes[rank] = counters.sent_bytes;
  stats.rank_wait_s.assign(world, 0.0);
  stats.rank_wait_s[rank] = counters.wait_s;
  return stats;
}

std::optional<StepDone> RankModel::run(const Step& step) {
  const StepBatch batch = batch_of(step, layout_, share_.place, limits_);
  for (const Slice* slice : batch.slices) {
    if (slice->setup) sampling_[static_cast<size_t>(slice->state)] = slice->setup->sampling;
  }
  world_.begin_step(step.id);
  std::vector<RouteTrace> routes;
  stage_->forward(batch.batch, batch.traced ? &routes : nullptr);
  StepDone part;
  part.id = step.id;
  if (share_.last_stage) {
    part.slices = results(batch, routes);
  } else if (batch.traced) {
    part.slices.resize(batch.slices.size());
    add_routes(batch, routes, &part.slices);
  } else {
    return std::nullopt;
  }
  if (share_.place.tp != 0) return std::nullopt;
  return part;
}

std::vector<SliceResult> RankModel::results(const StepBatch& step,
                                            const std::vector<RouteTrace>& routes) {
  std::vector<SliceResult> results(step.slices.size());
  std::vector<int64_t> rows;  // that need logits
  std::vector<size_t> slice_of_row;
  for (size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = *step.slices[i];
    const AttentionSlice& at = step.batch.slices[i];
    results[i].sequence = slice.sequence;
    if (slice.want == Want::nothing) continue;
    if (slice.want == Want::all_logits) {
      TracedSlice& trace = results[i].trace.emplace();
      trace.vocab = static_cast<int32_t>(spec_.vocab);
      trace.logits.reserve(static_cast<size_t>(at.tokens * spec_.vocab));
    }
    const int64_t first = slice.want == Want::token ? at.row + at.tokens - 1 : at.row;
    for (int64_t row = first; row < at.row + at.tokens; ++row) {
      rows.push_back(row);
      slice_of_row.push_back(i);
    }
  }
  stage_->logits(rows, [&](size_t index, const float* logits) {
    if (share_.place.tp != 0) return;
    const size_t i = slice_of_row[index];
    SliceResult& result = results[i];
    if (result.trace) {
      result.trace->logits.insert(result.trace->logits.end(), logits, logits + spec_.vocab);
    }
    const bool last = index + 1 == rows.size() || slice_of_row[index + 1] != i;
    if (!last) return;
    const Slice& slice = *step.slices[i];
    result.token =
        choose_token(logits, spec_.vocab, sampling_[static_cast<size_t>(slice.state)], slice);
  });
  if (step.traced) add_routes(step, routes, &results);
  return results;
}

// Cuts the routes of the batch's rows into those of its traced slices.
void RankModel::add_routes(const StepBatch& step, const std::vector<RouteTrace>& routes,
                           std::vector<SliceResult>* results) const {
  for (size_t i = 0; i < step.slices.size(); ++i) {
    SliceResult& result = (*results)[i];
    result.sequence = step.slices[i]->sequence;
    if (step.slices[i]->want != Want::all_logits) continue;
    if (!result.trace) result.trace.emplace();
    const AttentionSlice& at = step.batch.slices[i];
    result.trace->moe_layers = static_cast<int32_t>(routes.size());
    for (const RouteTrace& route : routes) {
      const auto top_k = static_cast<int64_t>(route.ids.size()) / step.batch.rows();
      result.trace->top_k = static_cast<int32_t>(top_k);
      const int64_t begin = at.row * top_k;
      const int64_t end = (at.row + at.tokens) * top_k;
      result.trace->expert_ids.insert(result.trace->expert_ids.end(), route.ids.begin() + begin,
                                      route.ids.begin() + end);
      result.trace->expert_weights.insert(result.trace->expert_weights.end(),
                                          route.weights.begin() + begin,
                                          route.weights.begin() + end);
    }
  }
}

}  // namespace dure
