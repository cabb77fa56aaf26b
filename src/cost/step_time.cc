// See step_time.h.
#include "cost/step_time.h"

#include <algorithm>
#include <cmath>

namespace dure {
namespace {

double operations_per_second(const GpuSpeed& gpu, MathUnit unit) {
  if (unit == MathUnit::fp4) return gpu.fp4;
  return unit == MathUnit::fp8 ? gpu.fp8 : gpu.bf16;
}

// Reads and operations overlap, but not where both take long.
double slower_of(double a, double b) {
  const double a2 = a * a;
  const double b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

double product(const MatrixWork& matrix, double rows, double read_efficiency, const GpuSpeed& gpu,
               const TimeConstants& constants) {
  if (matrix.bytes == 0.0) return 0.0;
  const double math = constants.math * rows / (rows + constants.half_rows);
  return slower_of(matrix.bytes / (gpu.memory * read_efficiency),
                   matrix.operations * rows / (operations_per_second(gpu, matrix.unit) * math));
}

// Of experts that hold more than their share of tokens when few are sent.
double imbalance(double pairs_per_rank) {
  return 1.1 + 0.35 / std::sqrt(1.0 + pairs_per_rank / 64.0);
}

double experts(const LayerWork& layer, double tokens, const GpuSpeed& gpu,
               const TimeConstants& constants) {
  const double touched =
      layer.experts_held * (1.0 - std::pow(1.0 - layer.top_k / layer.experts,
                                           std::max(1.0, constants.distinct * tokens)));
  const double pairs = tokens * layer.top_k * layer.experts_held / layer.experts;
  const double uneven = layer.experts_held < layer.experts ? imbalance(pairs) : 1.0;
  const double rows = pairs / std::max(touched, 1.0);  // of each product
  const double math = constants.expert_math * rows / (rows + constants.half_rows * 0.25);
  return slower_of(touched * layer.expert.bytes / (gpu.memory * constants.expert_read),
                   uneven * pairs * layer.expert.operations /
                       (operations_per_second(gpu, layer.expert.unit) * math));
}

// A sum over `ranks` of `bytes`, as all-reduces and as pairs of all-to-alls move them.
double exchange(double bytes, double ranks, const GpuSpeed& gpu, const TimeConstants& constants) {
  if (ranks <= 1.0) return 0.0;
  return constants.collective + constants.hop * (ranks - 1.0) +
         2.0 * (ranks - 1.0) / ranks * bytes / (gpu.link * constants.link);
}

}  // namespace

double step_seconds(const StepWork& work, const GpuSpeed& gpu, const TimeConstants& constants,
                    const StepLoad& load) {
  const double tokens = load.prefill_tokens + load.decodes;
  if (tokens == 0.0) return 0.0;
  const double all_tokens = tokens * work.layout.dp;
  const double mean_keys = load.decodes > 0.0 ? load.decode_keys / load.decodes : 0.0;
  const double row_bytes = work.hidden * 2.0;
  double seconds = constants.step + constants.sequence * (load.decodes + load.prompts_done);
  if (load.prefill_tokens > 0.0) seconds += constants.prefill_layer * work.layers;
  for (const LayerWork& layer : work.kinds) {
    double each = constants.layer * layer.kernels;
    const bool fp4 = layer.dense.unit == MathUnit::fp4 || layer.expert.unit == MathUnit::fp4;
    if (fp4) each += constants.fp4_layer;
    each += product(layer.attention, tokens, constants.read, gpu, constants);
    each += product(layer.dense, tokens, constants.read, gpu, constants);
    const double reach = layer.reach > 0 ? static_cast<double>(layer.reach) : 1e18;
    const double keys = load.decodes * std::min(mean_keys, reach);
    const double cached = keys * layer.cache_bytes + load.decode_keys * layer.index_bytes +
                          load.prefill_keys * layer.cache_bytes;
    each +=
        slower_of((cached + load.decodes * layer.state_bytes) / (gpu.memory * constants.cache_read),
                  keys * layer.pair_operations / (gpu.bf16 * constants.attention_math));
    const double pairs = std::min(load.prefill_pairs, load.prefill_tokens * reach);
    each += pairs * layer.prefill_pair_operations / (gpu.bf16 * constants.attention_math);
    each += exchange(tokens * row_bytes, work.layout.tp, gpu, constants);
    if (layer.experts > 0.0) {
      each += constants.expert_layer + experts(layer, all_tokens, gpu, constants);
      each += exchange(all_tokens * row_bytes, work.layout.stage_ranks(), gpu, constants);
    } else {
      each += exchange(tokens * row_bytes, work.layout.tp, gpu, constants);
    }
    seconds += each * layer.layers;
  }
  return seconds +
         product(work.head, load.decodes + load.prompts_done, constants.read, gpu, constants);
}

}  // namespace dure
