// See numbers.h. Formats of 4 bits whose scales the matrix units apply are multiplied as they are;
// others are widened first and multiplied as bf16. What MemoryModel leaves in its first type is
// left here too: all but experts in mxfp4 releases, latent attention in nvfp4 ones.
#include "plan/numbers.h"

#include <algorithm>

#include "plan/candidates.h"

namespace dure {
namespace {

bool has_latent_attention(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& layer) {
    return std::holds_alternative<MlaSpec>(layer.attention);
  });
}

MatrixFormat matrix_format(const WeightFormat& weights) {
  MatrixFormat format;
  format.bytes = weights.bits_per_weight / 8.0;
  if (weights.name == "fp8") format.unit = MathUnit::fp8;
  if (weights.name == "fp4" || weights.name == "nvfp4" || weights.name == "mxfp4") {
    format.unit = MathUnit::fp4;
  }
  return format;
}

}  // namespace

Numbers numbers_of(const ModelSpec& spec, const std::optional<WeightFormat>& weights,
                   const KvFormat& kv) {
  MatrixFormat plain;
  plain.bytes = static_cast<double>(bytes_of(spec.dtype));
  Numbers numbers{plain, plain, plain, static_cast<double>(kv.bytes)};
  if (!weights) return numbers;
  const MatrixFormat format = matrix_format(*weights);
  numbers.experts = format;
  const bool experts_alone = weights->name == "mxfp4" && has_experts(spec);
  if (experts_alone) return numbers;
  numbers.dense = format;
  if (weights->name != "nvfp4" || !has_latent_attention(spec)) numbers.attention = format;
  return numbers;
}

}  // namespace dure
