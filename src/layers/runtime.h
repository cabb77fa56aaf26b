// What every layer is given: the device, the peers, the rank's share and its buffers. And the
// batch: the token rows of one step that belong to this rank's dp group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/expert_capacity.h"
#include "comm/communicator.h"
#include "cost/shard.h"
#include "kernels/backend.h"
#include "layers/workspace.h"
#include "model/spec.h"

namespace dure {

struct Runtime {
  const ModelSpec& spec;
  const Layout& layout;
  const RankShare& share;
  Backend& backend;
  World& world;
  Workspace& workspace;
  Compute compute = Compute::bf16;
  ExpertCapacity capacity = {};

  // out[rows, hidden] = the rank's part of a row-parallel product of x[rows, k]: zeros where the
  // rank holds none of its inputs (fewer heads than ranks, say).
  void partial_product(const float* x, int64_t rows, const PackedMatrix& w, float* out) const;

  // A tensor that each tp rank holds a partial sum of becomes replicated; the one place where that
  // happens. [count] fp32.
  void reduce_partial(float* data, int64_t count, std::string_view what) const;
};

struct Batch {
  std::vector<int32_t> tokens;     // [rows]
  std::vector<int32_t> positions;  // [rows]
  std::vector<int32_t> lengths;    // [rows]: tokens of the row's sequence so far
  std::vector<int32_t> row_index;  // 0, 1, … rows - 1: positions in tables made for this batch
  std::vector<std::vector<AttentionSlice>> slices;  // [tables]: with the pages of each
  std::vector<StateSlice> states;                   // of the same slices
  std::vector<int64_t> rows_of_dp;                  // of every dp group, this one's included
  int64_t context = 0;                              // tokens of the longest sequence that may come
  int64_t rows() const { return static_cast<int64_t>(tokens.size()); }
};

// The routing of one MoE layer in a traced step.
struct RouteTrace {
  std::vector<int32_t> ids;  // [rows, top_k], slot order; dropped_slot where no expert took it
  std::vector<float> weights;
};

void add_bias(const Runtime& runtime, float* x, int64_t rows, std::span<const float> bias);

}  // namespace dure
