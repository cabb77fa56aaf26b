// What one step asks of one GPU of a group, counted from the inventory and not yet timed: bytes of
// weights, operations per token, cached bytes per token, layer kind by layer kind. The rank counted
// is the first of its stage; the largest share of heads, columns and experts is its. Of the stages
// it is the one that reads most, which all others wait for: layers may not divide evenly, dense
// ones weigh less than those with experts, and the last stage has the head.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/layout.h"
#include "cost/weight_format.h"
#include "model/inventory.h"
#include "model/spec.h"

namespace dure {

// The unit that multiplies a matrix.
enum class MathUnit { bf16, fp8, fp4 };

struct MatrixFormat {
  double bytes = 2.0;  // of one weight, scales included
  MathUnit unit = MathUnit::bf16;
};

// In which numbers a deployment holds and multiplies what.
struct Numbers {
  MatrixFormat attention;  // its projections
  MatrixFormat dense;      // dense feed-forward parts and shared experts
  MatrixFormat experts;
  double cache_bytes = 2.0;  // of one cached element
};

struct MatrixWork {
  double bytes = 0.0;       // of weights on this rank
  double operations = 0.0;  // for one token (an expert's: for one token that it takes)
  MathUnit unit = MathUnit::bf16;
};

// Of a layer's feed-forward part: dense, experts, routers. All others of a layer are attention's.
bool is_of_feed_forward(Part part);

// Layers that are alike.
struct LayerWork {
  int layers = 0;  // of this kind on the rank
  MatrixWork attention;
  MatrixWork dense;
  MatrixWork expert;          // one
  double experts = 0.0;       // of the layer, on all ranks
  double experts_held = 0.0;  // on this rank, whole or in part
  double top_k = 0.0;
  double cache_bytes = 0.0;      // of one token, on this rank
  int64_t reach = 0;             // keys that a query reads at most: a window or a choice; 0: all
  double pair_operations = 0.0;  // of a query and a key that it reads, all heads, as decoded
  double prefill_pair_operations = 0.0;  // the same in a prefill
  double index_bytes = 0.0;              // of one token's index key, read whatever the reach
  double state_bytes = 0.0;              // of one sequence, read and written each step
  double kernels = 1.0;                  // relative number of kernel launches
};

struct StepWork {
  std::vector<LayerWork> kinds;
  MatrixWork head;  // zero where the stage counted is not the last
  int stage = 0;    // which is counted
  double hidden = 0.0;
  Layout layout;
  int layers = 0;  // of the whole model
};

// Work of many layouts of one model: its weights are listed once, equal layers and experts as one.
class WorkModel {
 public:
  explicit WorkModel(const ModelSpec& spec);
  StepWork of(const Layout& layout, const Numbers& numbers) const;

 private:
  ModelSpec spec_;
  std::vector<size_t> kind_of_;  // [layers] the first layer that is equal
  std::vector<Weight> weights_;  // matrices of the first layers of a kind, of experts only number 0
};

StepWork work_of(const ModelSpec& spec, const Layout& layout, const Numbers& numbers);

}  // namespace dure
