// See rank_model.h.
#include "engine/rank_model.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/host_name.h"
#include "cost/step_buffers.h"
#include "model/load_spec.h"

namespace dure {
namespace {

static_assert(no_token_left == nothing_allowed, "results go to the front as the kernels give them");

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

TokenLogprobs logprobs_of(const SampledRow& row) {
  TokenLogprobs made{row.token, row.logprob, row.rank, {}};
  for (const TokenLogprob& each : row.top) made.top.push_back({each.token, each.logprob});
  return made;
}

}  // namespace

RankModel::RankModel(const StartGroup& start, World& world, std::string keeper)
    : start_(start),
      world_(world),
      spec_(load_spec(start.model)),
      layout_(start.layout),
      share_(share_of(spec_, start.layout, world.rank())),
      keeper_(std::move(keeper)) {
  check_layout_for(spec_, layout_);
  checkpoint_ = CheckpointReader::open(start.model);
  inventory_ = bind_inventory(spec_, *checkpoint_);
  residents_ =
      resident_weights(inventory_, spec_, layout_, share_, {start.compute, start.quantize});
  bytes_to_load_ = bytes_to_read(residents_);
  limits_.vocab = spec_.vocab;
  limits_.page_tokens = start.page_tokens;
  limits_.pages = start.pages;
  limits_.states = start.states;
  limits_.context = start.context;
  limits_.classes = page_classes(spec_, start.context);
  limits_.max_batch_tokens = start.max_batch_tokens;
  samplers_.resize(static_cast<size_t>(std::max(0, start.states)));
}

void RankModel::load() {
  const auto begin = std::chrono::steady_clock::now();
  backend_ = make_cpu_backend(start_.threads);
  const int rank = share_.place.rank;
  WeightRequest request{*checkpoint_, residents_, {}, keeper_, start_.threads, {}};
  request.origin = {start_.model, checkpoint_->files(), layout_,
                    rank,         start_.compute,       backend_->isa()};
  request.say = [rank](const std::string& line) {
    std::fprintf(stderr, "rank %d: %s\n", rank, line.c_str());
  };
  obtained_ = obtain_weights(request, &bytes_loaded_);
  weights_ =
      weights_in(obtained_.memory->data(), obtained_.plan, residents_, spec_, layout_, share_);
  workspace_ = std::make_unique<Workspace>(
      step_buffers(spec_, layout_, share_, start_.max_batch_tokens, start_.context));
  runtime_.reset(new Runtime{spec_, layout_, share_, *backend_, world_, *workspace_, start_.compute,
                             start_.capacity});
  cache_ = std::make_unique<KvCache>(
      spec_, layout_, share_, page_layout(spec_, layout_, share_, limits_.classes),
      CacheShape{start_.kv_dtype, start_.pages, start_.page_tokens, start_.states});
  stage_ = std::make_unique<Stage>(*runtime_, weights_, *cache_);
  peak_rss_bytes_ = peak_rss_bytes();
  load_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

RankReport RankModel::report() const {
  RankReport report;
  report.rank = share_.place.rank;
  report.pid = getpid();
  report.host = host_name();
  report.isa = backend_->isa();
  for (const Resident& resident : residents_) report.weight_bytes += resident.bytes();
  report.kv_bytes = cache_->bytes();
  report.activation_bytes = workspace_->activation_bytes();
  report.communication_bytes = workspace_->communication_bytes();
  report.peak_rss_bytes = peak_rss_bytes_;
  report.load_s = load_s_;
  report.kept_bytes = obtained_.kept ? report.weight_bytes : 0;
  report.weights_checksum = obtained_.checksum;
  return report;
}

GroupStats RankModel::stats() const {
  GroupStats stats;
  RankStats& mine = stats.ranks.emplace_back();
  mine.rank = share_.place.rank;
  const CommCounters counters = world_.counters();
  for (const OpKind kind :
       {OpKind::all_reduce, OpKind::all_gather, OpKind::all_to_all, OpKind::stage_transfer}) {
    const OpCounters& op = counters[index_of(kind)];
    mine.ops.push_back({std::string(label_of(kind)), op.sent_bytes, op.wait_s});
  }
  const std::array<double, part_count> seconds = world_.clock().seconds();
  for (size_t part = 0; part < part_count; ++part) {
    mine.parts.push_back({std::string(to_string(static_cast<StepPart>(part))), seconds[part]});
  }
  for (const Stage::MoeCounts& each : stage_->moe_counts()) {
    mine.experts.push_back({static_cast<int32_t>(each.layer),
                            static_cast<int32_t>(each.experts.begin), each.counts.computed});
    // The tp ranks of a dp group route the same tokens: one of them counts.
    if (share_.place.tp != 0) continue;
    stats.dropped_slots += each.counts.slots.dropped;
    stats.moved_slots += each.counts.slots.moved;
  }
  return stats;
}

std::optional<StepDone> RankModel::run(const Step& step) {
  const StepBatch batch = batch_of(step, layout_, share_.place, limits_);
  if (share_.last_stage) {
    for (const Slice* slice : batch.slices) sampler_of(*slice).take(*slice);
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

SlotSampler& RankModel::sampler_of(const Slice& slice) {
  return samplers_[static_cast<size_t>(slice.state)];
}

// The rows that need logits, and what is asked of each.
RankModel::Asked RankModel::asked(const StepBatch& step) {
  Asked asked;
  for (size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = *step.slices[i];
    const StateSlice& at = step.batch.states[i];
    SlotSampler& sampler = sampler_of(slice);
    const int64_t told = sampler.told_prompt_rows(slice);
    for (int64_t row = 0; row < at.tokens; ++row) {
      const bool draws = slice.want != Want::nothing && row + 1 == at.tokens;
      if (row >= told && !draws && slice.want != Want::all_logits) continue;
      const size_t place = asked.rows.size();
      asked.rows.push_back(at.row + row);
      asked.slice_of_row.push_back(i);
      if (row < told) asked.samples.push_back({place, sampler.prompt_token(slice, row)});
      if (draws) asked.samples.push_back({place, sampler.next_token(slice)});
    }
  }
  return asked;
}

void RankModel::answer(std::span<const Asked::Sample> samples,
                       const std::vector<size_t>& slice_of_row,
                       std::vector<SliceResult>* results) const {
  std::vector<SampleRow> rows;
  for (const Asked::Sample& sample : samples) rows.push_back(sample.row);
  const auto span = world_.clock().time(StepPart::sampling, "sampling");
  std::vector<SampledRow> sampled(rows.size());
  backend_->sample(rows, spec_.vocab, sampled.data());
  for (size_t i = 0; i < samples.size(); ++i) {
    SliceResult& result = (*results)[slice_of_row[samples[i].place]];
    if (rows[i].given < 0) {
      result.token = sampled[i].token;
      if (rows[i].logprobs >= 0 && sampled[i].token >= 0) result.logprobs = logprobs_of(sampled[i]);
    } else if (sampled[i].token >= 0) {
      result.prompt_logprobs.push_back(logprobs_of(sampled[i]));
    } else {
      constexpr float nan = std::numeric_limits<float>::quiet_NaN();
      result.prompt_logprobs.push_back({rows[i].given, nan, 0, {}});
    }
  }
}

std::vector<SliceResult> RankModel::results(const StepBatch& step,
                                            const std::vector<RouteTrace>& routes) {
  std::vector<SliceResult> results(step.slices.size());
  for (size_t i = 0; i < step.slices.size(); ++i) {
    results[i].sequence = step.slices[i]->sequence;
    if (step.slices[i]->want != Want::all_logits) continue;
    TracedSlice& trace = results[i].trace.emplace();
    trace.vocab = static_cast<int32_t>(spec_.vocab);
    trace.logits.reserve(static_cast<size_t>(step.batch.states[i].tokens * spec_.vocab));
  }
  Asked asked = this->asked(step);
  size_t next = 0;  // of asked.samples
  stage_->logits(asked.rows, [&](size_t first, size_t count, const float* logits) {
    if (share_.place.tp != 0) return;
    for (size_t i = 0; i < count; ++i) {
      SliceResult& result = results[asked.slice_of_row[first + i]];
      if (!result.trace) continue;
      const float* row = logits + static_cast<int64_t>(i) * spec_.vocab;
      result.trace->logits.insert(result.trace->logits.end(), row, row + spec_.vocab);
    }
    const size_t begin = next;
    for (; next < asked.samples.size() && asked.samples[next].place < first + count; ++next) {
      Asked::Sample& sample = asked.samples[next];
      sample.row.logits = logits + static_cast<int64_t>(sample.place - first) * spec_.vocab;
    }
    answer(std::span(asked.samples).subspan(begin, next - begin), asked.slice_of_row, &results);
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
    const StateSlice& at = step.batch.states[i];
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
