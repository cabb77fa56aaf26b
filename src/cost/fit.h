// Does a model fit on a layout, how much cache is left, and which layout fits if this one does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/engine_memory.h"
#include "cost/memory.h"

namespace dure {

// Where nobody said otherwise, of a rank of Dure on a GPU.
inline constexpr int64_t gpu_overhead = int64_t{1} << 30;  // bytes: context, libraries, graphs
inline constexpr double gpu_utilization = 0.9;

struct FitQuestion {
  Layout layout;
  RunShape shape;            // `pages` is part of the answer
  int64_t memory_bytes = 0;  // usable: of each rank's GPU, or of each machine where ranks share it
  bool shared = false;       // ranks of one machine share its memory (CPU)
  int ranks_per_node = 0;    // 0: all on one
  double utilization = gpu_utilization;  // of memory_bytes
  int64_t context = 0;    // tokens of each sequence that must fit; 0: one page at least
  int64_t sequences = 1;  // at once, shared out over dp groups
  // A GPU engine's memory in place of Dure's own: its kinds, and its budget in place of
  // utilization.
  std::optional<EngineRun> engine = std::nullopt;

  int64_t budget() const;  // bytes
  // Pages that each dp group's cache must have.
  int64_t pages_needed(const ModelSpec& spec, int dp) const;
  int nodes_of(const Layout& layout) const;
  RunShape shape_for(const ModelSpec& spec, int dp) const;  // with context and sequences set
};

struct RankFit {
  RankMemory memory;
  int64_t free = 0;  // bytes; below zero: missing. Where memory is shared, of the whole machine
};

struct FitAnswer {
  Layout layout;
  bool fits = false;
  int64_t pages = 0;           // of each dp group: all that fit, or those asked for
  int64_t most_pages = 0;      // that would fit; 0 where not even the weights do
  int64_t most_sequences = 0;  // of all dp groups: of the question's context, or the model's
  std::vector<RankFit> ranks;  // [world]
  size_t tightest = 0;         // the rank with the least free memory
};

// The layout must have passed check_layout_for.
FitAnswer fit(const MemoryModel& model, const FitQuestion& question);

// Turns a question about Dure's own memory into one about an engine's. `utilization` and
// `batch_tokens` as the user gave them, 0 where not: the engine has its own.
void ask_for_engine(const EngineProfile& profile, double utilization, int64_t batch_tokens,
                    FitQuestion& question);

// Bytes that a rank, or a machine whose memory is shared, may take on this layout.
int64_t budget_of(const MemoryModel& model, const FitQuestion& question, const Layout& layout);

// Whether the first and the last memory have room: what a search asks before it asks fit().
bool ends_fit(const MemoryModel& model, const FitQuestion& question);

// Of the layouts with the fewest ranks that fit, at least as many as the question's, the one that
// changes the question's sizes least. Nothing within 1024 ranks: nothing returned.
std::optional<FitAnswer> nearest_that_fits(const MemoryModel& model, const FitQuestion& question);

// Things worth knowing about an answer, one sentence each: replicated cache and what data
// parallelism would save, a cache shorter than the model's context, sums whose order is not kept, a
// utilization that leaves too little for what engines allocate beside it, what engines do otherwise
// with windows and with scales that blocks share.
std::vector<std::string> fit_remarks(const MemoryModel& model, const FitQuestion& question,
                                     const FitAnswer& answer);

// GPU engines exchange expert inputs through a workspace with room for every peer's largest batch:
// ep × max_batch_tokens × hidden bf16 values on each rank. 0 where ep is 1.
int64_t gpu_dispatch_workspace(const ModelSpec& spec, const Layout& layout,
                               int64_t max_batch_tokens);

}  // namespace dure
