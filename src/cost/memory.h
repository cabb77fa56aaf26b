// What a rank needs of its machine's memory, by kind, before anything is loaded. Weights are the
// sum of the loader's own list (resident.h), buffers that of the engine's (step_buffers.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/page_layout.h"
#include "cost/resident.h"
#include "cost/shard.h"
#include "cost/weight_format.h"
#include "tensor/dtype.h"

namespace dure {

// How a group will run, as far as memory depends on it.
struct RunShape {
  Compute compute = Compute::bf16;
  CodeFormat quantize = CodeFormat::none;  // of matrices, while loading
  int64_t kv_element_bytes = 2;            // of the cache: 4 fp32, 2 bf16, 1 fp8
  int64_t page_tokens = 16;
  int64_t pages = 0;    // of each dp group's cache
  int64_t context = 0;  // tokens of the longest sequence
  int64_t states = 0;   // sequences whose recurrent state, or windows, each dp group keeps
  // Windowed layers have memory of their own for each sequence, as engines on GPUs are counted.
  // Else all layers share the pages, and what no window reaches any more is given back
  // (page_layout.h).
  bool windows_apart = false;
  int64_t max_batch_tokens = 2048;   // of one step and dp group
  int64_t overhead = rank_overhead;  // bytes: what a process takes before it holds anything

  Arithmetic arithmetic() const { return {compute, quantize}; }

  // Code, MPI's shared memory and queues, staging while loading; measured on dure-rank.
  static constexpr int64_t rank_overhead = int64_t{96} << 20;
};

struct RankMemory {  // bytes
  int64_t weights = 0;
  int64_t padding = 0;  // of packed matrices, beyond their weights
  int64_t kv = 0;       // pages, recurrent states and windows
  int64_t activation = 0;
  int64_t communication = 0;
  int64_t overhead = 0;
  int64_t cuda_graphs = 0;  // of engines that record their steps
  int64_t outside = 0;      // of all these, what an engine takes beside the budget that it is given
  int64_t total() const {
    return weights + padding + kv + activation + communication + overhead + cuda_graphs;
  }
  int64_t charged() const { return total() - outside; }  // to the budget
};

// One matrix, table or vector of a layer of some kind on a rank.
struct HeldTensor {
  Slot slot = Slot::embedding;
  int64_t payload = 0;  // bytes of each, as stored or re-typed
  int64_t padding = 0;  // and beyond that, where Dure packs it
  int64_t layers = 1;   // of that kind, on this rank
  int64_t experts = 1;  // of each of those layers, on this rank
  bool retyped = false;
};

// Of one page on the rank; where windows are apart, of the layers that see all. 0 for a rank
// without kv heads.
int64_t kv_page_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                      const RunShape& shape);
// Of one sequence's recurrent state in all layers that the rank holds.
int64_t state_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share);
// Where windows are apart: what one sequence keeps in the windowed layers that the rank holds,
// min(context, window) tokens in whole pages of each. Else 0: those keys are in the pages.
int64_t window_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                     const RunShape& shape);
// How the layers share pages.
std::vector<PageClass> page_classes_of(const ModelSpec& spec, const RunShape& shape);
// That a sequence of shape.context tokens holds at most at once.
int64_t sequence_pages(const ModelSpec& spec, const RunShape& shape);
// Tokens of sequences of that length that so many pages hold.
int64_t tokens_held(const ModelSpec& spec, const RunShape& shape, int64_t pages);
// Of a whole sequence of shape.context tokens.
int64_t sequence_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                       const RunShape& shape);
// In all layers that the rank holds, or of the whole model, whatever they see.
int64_t kv_bytes_per_token(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                           int64_t element_bytes);
int64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype);

// Tokens that a sequence holds while its largest chunk is computed, where every layer sees only a
// window and an engine frees what lies behind it: the window before the chunk, and the chunk, in
// whole pages, and one page where the borders do not meet. Nothing if some layer sees everything.
std::optional<int64_t> windowed_tokens_per_sequence(const ModelSpec& spec, int64_t context,
                                                    int64_t chunk_tokens, int64_t page_tokens);

// Exactly what a rank with these weights (of bind_inventory) allocates.
RankMemory rank_memory(const std::vector<Weight>& weights, const ModelSpec& spec,
                       const Layout& layout, int rank, const RunShape& shape);

// The same for weights that are all of spec.dtype, without listing every layer and expert: equal
// layers and equal experts are counted, which is fast enough to search layouts with. Where a format
// is given, the matrices of attention and feed-forward parts are re-typed to it; embedding, head,
// router and norms stay, as released checkpoints keep them.
class MemoryModel {
 public:
  explicit MemoryModel(const ModelSpec& spec, std::optional<WeightFormat> format = std::nullopt);

  const ModelSpec& spec() const { return spec_; }
  RankMemory of(const Layout& layout, int rank, const RunShape& shape) const;
  // What the rank's weights consist of, equal layers and equal experts counted.
  std::vector<HeldTensor> held(const Layout& layout, int rank, Arithmetic arithmetic) const;
  const std::optional<WeightFormat>& format() const { return format_; }
  int64_t all_weights() const;  // bytes of one copy of everything, as stored or re-typed

 private:
  struct TypedWeights {
    std::vector<Weight> weights;
    std::vector<std::optional<WeightFormat>> formats;  // nothing: its own type
    const std::optional<WeightFormat>& format_of(const Weight& weight) const {
      return formats[static_cast<size_t>(&weight - weights.data())];
    }
  };
  struct LayerWeights {
    std::vector<Weight> weights;  // but those of experts
    std::vector<Weight> expert;   // of one expert, number 0
  };
  struct LayerKind {
    int first = 0;              // a layer of this kind
    std::vector<bool> members;  // [layers]
    TypedWeights weights;
    TypedWeights expert;
  };
  TypedWeights typed(std::vector<Weight> weights) const;
  void join_kind(int layer, const LayerWeights& of_equal);
  static std::optional<int64_t> retyped_payload(const Resident& each, const TypedWeights& typed);
  void hold(const TypedWeights& weights, const Layout& layout, const RankShare& share,
            Arithmetic arithmetic, HeldTensor counts, std::vector<HeldTensor>& held) const;
  void hold_kind(const LayerKind& kind, int64_t layers, const Layout& layout,
                 const RankShare& share, Arithmetic arithmetic,
                 std::vector<HeldTensor>& held) const;

  ModelSpec spec_;
  std::optional<WeightFormat> format_;
  std::vector<LayerKind> kinds_;
  TypedWeights outer_;  // embedding, final norm, head
};

}  // namespace dure
