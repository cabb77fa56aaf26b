// The model as one rank holds it: its weights, cache and buffers, and the execution of one step.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "cost/resident.h"
#include "engine/kv_cache.h"
#include "engine/obtain_weights.h"
#include "engine/slot_sampler.h"
#include "engine/stage.h"
#include "engine/step_batch.h"
#include "layers/runtime.h"
#include "model/checkpoint.h"
#include "protocol/messages.h"

namespace dure {

class RankModel {
 public:
  // Reads headers and computes what to load; allocates nothing large. `keeper` names the keeper of
  // this host; empty: there is none. Throws what the checkpoint does.
  RankModel(const StartGroup& start, World& world, std::string keeper);

  int64_t bytes_to_load() const { return bytes_to_load_; }
  int64_t bytes_loaded() const { return bytes_loaded_; }
  void load();  // may run on another thread than the rest

  RankReport report() const;
  GroupStats stats() const;  // this rank's numbers, zeros elsewhere

  // One step; the part of its answer that this rank contributes, if any (step_collector.h).
  std::optional<StepDone> run(const Step& step);

 private:
  // Rows of a step's batch that need logits.
  struct Asked {
    struct Sample {
      size_t place = 0;  // in rows
      SampleRow row;     // without logits yet
    };
    std::vector<int64_t> rows;
    std::vector<size_t> slice_of_row;
    std::vector<Sample> samples;  // in order of rows
  };
  SlotSampler& sampler_of(const Slice& slice);
  Asked asked(const StepBatch& step);
  void answer(std::span<const Asked::Sample> samples, const std::vector<size_t>& slice_of_row,
              std::vector<SliceResult>* results) const;
  std::vector<SliceResult> results(const StepBatch& step, const std::vector<RouteTrace>& routes);
  void add_routes(const StepBatch& step, const std::vector<RouteTrace>& routes,
                  std::vector<SliceResult>* results) const;

  StartGroup start_;
  World& world_;
  ModelSpec spec_;
  Layout layout_;
  RankShare share_;
  StepLimits limits_;
  std::vector<SlotSampler> samplers_;  // of each slot; where this is the last stage
  std::unique_ptr<CheckpointReader> checkpoint_;
  std::vector<Weight> inventory_;
  std::vector<Resident> residents_;
  std::string keeper_;
  int64_t bytes_to_load_ = 0;
  std::atomic<int64_t> bytes_loaded_{0};
  int64_t peak_rss_bytes_ = 0;
  double load_s_ = 0.0;

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<Runtime> runtime_;
  ObtainedWeights obtained_;
  RankWeights weights_;  // in its memory
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Stage> stage_;
};

}  // namespace dure
