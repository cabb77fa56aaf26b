// See step_time.h.
#include "cost/step_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dure {
namespace {

// Reads and operations overlap, but not where both take long.
double slower_of(double a, double b) {
  const double a2 = a * a;
  const double b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

// Of experts that hold more than their share of tokens when few are sent.
double imbalance(double pairs_per_rank) {
  return 1.1 + 0.35 / std::sqrt(1.0 + pairs_per_rank / 64.0);
}

// One micro-batch on one stage.
class StageClock {
 public:
  StageClock(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
             const StepLoad& load)
      : work_(work), hardware_(hardware), gpu_(hardware.gpu), constants_(constants), load_(load) {}

  StepTime run() {
    tokens_ = load_.prefill_tokens + load_.decodes;
    all_tokens_ = tokens_ * work_.layout.dp;
    add(Operation::launch, Bound::overhead,
        constants_.step + constants_.sequence * (load_.decodes + load_.prompts_done));
    for (const LayerWork& layer : work_.kinds) {
      times_ = layer.layers;
      count(layer);
    }
    times_ = 1.0;
    product(Operation::head, work_.head, load_.decodes + load_.prompts_done);
    if (work_.layout.pp > 1) {
      const bool leaves = work_.layout.stage_ranks() >= hardware_.gpus_per_node;
      add(Operation::stage_exchange, Bound::network,
          constants_.collective + (leaves ? constants_.node_hop : 0.0) +
              tokens_ * row_bytes() / ((leaves ? hardware_.nic : gpu_.link) * constants_.link));
    }
    return time_;
  }

 private:
  double row_bytes() const { return work_.hidden * 2.0; }

  // Rows of a token's hidden state that go through memory for each expert that it is sent to:
  // gathered, read, and its output written and summed. Where experts are cut over ranks, each of
  // them does so for all their rows; where they are whole, only their owner does.
  double row_traffic() const { return 3.0 * row_bytes(); }

  void add(Operation operation, Bound bound, double seconds) {
    time_.by_operation[static_cast<size_t>(operation)] += times_ * seconds;
    time_.by_bound[static_cast<size_t>(bound)] += times_ * seconds;
  }

  void add_slower(Operation operation, double reading, double computing) {
    add(operation, reading >= computing ? Bound::memory : Bound::compute,
        slower_of(reading, computing));
  }

  void count(const LayerWork& layer) {
    double launch = constants_.layer * layer.kernels;
    // Two products each: in and out of attention, of feed-forward parts, of experts.
    for (const MatrixWork* pair : {&layer.attention, &layer.dense, &layer.expert}) {
      if (pair->unit == MathUnit::fp4 && pair->bytes > 0.0) launch += 2.0 * constants_.fp4_input;
    }
    if (load_.prefill_tokens > 0.0) launch += constants_.prefill_layer;
    if (layer.experts > 0.0) launch += constants_.expert_layer;
    add(Operation::launch, Bound::overhead, launch);
    product(Operation::projections, layer.attention, tokens_);
    product(Operation::feed_forward, layer.dense, tokens_);
    attention(layer);
    exchange(Operation::tensor_exchange, tokens_ * row_bytes(), work_.layout.tp);
    if (layer.experts > 0.0) {
      experts(layer);
      exchange(Operation::expert_exchange, all_tokens_ * row_bytes(), work_.layout.stage_ranks());
    } else {
      exchange(Operation::tensor_exchange, tokens_ * row_bytes(), work_.layout.tp);
    }
  }

  void product(Operation operation, const MatrixWork& matrix, double rows) {
    if (matrix.bytes == 0.0 || rows == 0.0) return;
    const double math = constants_.math * rows / (rows + constants_.half_rows);
    add_slower(operation, matrix.bytes / (gpu_.memory * constants_.read),
               matrix.operations * rows / (operations_per_second(gpu_, matrix.unit) * math));
  }

  void attention(const LayerWork& layer) {
    const double mean_keys = load_.decodes > 0.0 ? load_.decode_keys / load_.decodes : 0.0;
    const double reach = layer.reach > 0 ? static_cast<double>(layer.reach) : 1e18;
    const double keys = load_.decodes * std::min(mean_keys, reach);
    const double cached = keys * layer.cache_bytes + load_.decode_keys * layer.index_bytes +
                          load_.prefill_keys * layer.cache_bytes +
                          load_.decodes * layer.state_bytes;
    const double math = gpu_.bf16 * constants_.attention_math;
    add_slower(Operation::attention, cached / (gpu_.memory * constants_.cache_read),
               keys * layer.pair_operations / math);
    const double pairs = std::min(load_.prefill_pairs, load_.prefill_tokens * reach);
    add(Operation::attention, Bound::compute, pairs * layer.prefill_pair_operations / math);
  }

  void experts(const LayerWork& layer) {
    const double touched =
        layer.experts_held * (1.0 - std::pow(1.0 - layer.top_k / layer.experts,
                                             std::max(1.0, constants_.distinct * all_tokens_)));
    const double pairs = all_tokens_ * layer.top_k * layer.experts_held / layer.experts;
    const double uneven = layer.experts_held < layer.experts ? imbalance(pairs) : 1.0;
    const double rows = pairs / std::max(touched, 1.0);  // of each product
    const double math = constants_.expert_math * rows / (rows + constants_.half_rows * 0.25);
    const double read = touched * layer.expert.bytes + pairs * row_traffic();
    add_slower(Operation::experts, read / (gpu_.memory * constants_.expert_read),
               uneven * pairs * layer.expert.operations /
                   (operations_per_second(gpu_, layer.expert.unit) * math));
  }

  // A sum of `bytes` over `ranks` neighbours, as all-reduces and as pairs of all-to-alls move them:
  // inside a node over its links, and between nodes, each GPU its share, over the NICs.
  void exchange(Operation operation, double bytes, int ranks) {
    if (ranks <= 1) return;
    const int inside = std::min(ranks, hardware_.gpus_per_node);
    const double nodes = std::ceil(static_cast<double>(ranks) / inside);
    double seconds = constants_.collective + constants_.hop * (inside - 1.0) +
                     2.0 * (inside - 1.0) / inside * bytes / (gpu_.link * constants_.link);
    if (nodes > 1.0) {
      seconds += constants_.node_hop * std::ceil(std::log2(nodes)) +
                 2.0 * (nodes - 1.0) / nodes * bytes / inside / (hardware_.nic * constants_.link);
    }
    add(operation, Bound::network, seconds);
  }

  const StepWork& work_;
  const Hardware& hardware_;
  const GpuSpeed& gpu_;
  const TimeConstants& constants_;
  const StepLoad& load_;
  double tokens_ = 0.0;
  double all_tokens_ = 0.0;  // of all dp ranks
  double times_ = 1.0;       // layers that what is added stands for
  StepTime time_;
};

}  // namespace

double operations_per_second(const GpuSpeed& gpu, MathUnit unit) {
  if (unit == MathUnit::fp4) return gpu.fp4;
  return unit == MathUnit::fp8 ? gpu.fp8 : gpu.bf16;
}

const char* to_string(Operation operation) {
  constexpr std::array<const char*, operations_of_a_step> names = {
      "projections",     "attention",      "feed_forward", "experts", "tensor_exchange",
      "expert_exchange", "stage_exchange", "head",         "launch"};
  return names[static_cast<size_t>(operation)];
}

const char* to_string(Bound bound) {
  constexpr std::array<const char*, 4> names = {"memory", "compute", "network", "overhead"};
  return names[static_cast<size_t>(bound)];
}

double StepTime::total() const {
  return std::accumulate(by_operation.begin(), by_operation.end(), 0.0);
}

Bound StepTime::bound() const {
  return static_cast<Bound>(std::max_element(by_bound.begin(), by_bound.end()) - by_bound.begin());
}

StepTime step_time(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                   const StepLoad& load) {
  if (load.prefill_tokens + load.decodes == 0.0) return {};
  const double stages = work.layout.pp;
  if (stages == 1.0) return StageClock(work, hardware, constants, load).run();
  const double parts = std::clamp(load.decodes + load.prompts, 1.0, stages);
  StepLoad part = load;
  for (double* each : {&part.prefill_tokens, &part.prefill_pairs, &part.prefill_keys, &part.prompts,
                       &part.prompts_done, &part.decodes, &part.decode_keys}) {
    *each /= parts;
  }
  StepTime time = StageClock(work, hardware, constants, part).run();
  for (double& seconds : time.by_operation) seconds *= stages;
  for (double& seconds : time.by_bound) seconds *= stages;
  return time;
}

}  // namespace dure
