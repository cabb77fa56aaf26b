// How long one step of a group takes: each part of each layer the slower of its reads and its
// operations (a roofline, Williams et al. 2009, with a soft corner), the exchanges between ranks,
// and what launching it all costs.
#pragma once

#include <array>

#include "cluster/gpu.h"
#include "cost/step_work.h"

namespace dure {

double operations_per_second(const GpuSpeed& gpu, MathUnit unit);  // on paper

// What the ranks of a group run on.
struct Hardware {
  GpuSpeed gpu;
  int gpus_per_node = 8;
  double nic = 50e9;  // bytes per second of each GPU to other nodes, each way
};

// What an engine and its kernels make of the data sheet. The defaults are set by hand; calibrated
// ones are close to them.
struct TimeConstants {
  double read = 0.75;        // of memory's speed, where weights are read
  double cache_read = 0.60;  // where cached keys and values are
  double expert_read = 0.60;
  double math = 0.60;  // of the matrix units' speed, of large products
  double expert_math = 0.45;
  double attention_math = 0.40;
  double half_rows = 150.0;       // rows of a product at which half of `math` is reached
  double collective = 4e-6;       // seconds
  double hop = 1e-6;              // seconds more, of each rank that takes part
  double node_hop = 15e-6;        // seconds more, where a collective leaves its node
  double distinct = 0.8;          // of independent tokens: how many that choose alike are worth
  double fp4_input = 2e-6;        // seconds of quantizing what one product with fp4 weights reads
  double link = 0.75;             // of the links' and NICs' speed
  double layer = 15e-6;           // seconds of launching one layer, times LayerWork::kernels
  double expert_layer = 12e-6;    // seconds more, of a layer with experts
  double step = 0.6e-3;           // seconds of each step
  double sequence = 6e-6;         // seconds of each sequence in a step
  double prefill_layer = 0.2e-3;  // seconds of each layer of a step that prefills
  double arrival = 2e-3;          // seconds of the API for each request, one after another
  double first_token = 0.040;     // seconds more before and after a first token
};

// Of one dp rank.
struct StepLoad {
  double prefill_tokens = 0.0;
  double prefill_pairs = 0.0;  // of prompt tokens with keys that they may read
  double prefill_keys = 0.0;   // keys in the cache of those prompts
  double prompts = 0.0;        // in this step
  double prompts_done = 0.0;   // that end in this step: their last tokens get logits
  double decodes = 0.0;        // sequences
  double decode_keys = 0.0;    // cached tokens of them all
};

enum class Operation {
  projections,      // of attention
  attention,        // cached keys and values, scores
  feed_forward,     // dense parts and shared experts
  experts,          // routed
  tensor_exchange,  // sums over tp ranks
  expert_exchange,  // dispatch and combine
  stage_exchange,   // from stage to stage
  head,
  launch,  // of kernels, steps and sequences
};
constexpr size_t operations_of_a_step = 9;
const char* to_string(Operation operation);

enum class Bound { memory, compute, network, overhead };
const char* to_string(Bound bound);

struct StepTime {
  std::array<double, operations_of_a_step> by_operation = {};  // seconds
  std::array<double, 4> by_bound = {};                         // the same seconds
  double total() const;
  double of(Operation operation) const { return by_operation[static_cast<size_t>(operation)]; }
  Bound bound() const;  // the largest
};

// Of a round in which every sequence of the load takes one step: with pipeline stages, of as many
// micro-batches as there are stages, as far as the load has sequences for them.
StepTime step_time(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                   const StepLoad& load);

}  // namespace dure
