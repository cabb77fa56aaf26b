// See numbers.h. Formats of 4 bits whose scales the matrix units apply are multiplied as they are;
// others are widened first and multiplied as bf16.
#include "plan/numbers.h"

namespace dure {

Numbers numbers_of(const ModelSpec& spec, const std::optional<WeightFormat>& weights,
                   const KvFormat& kv) {
  MatrixFormat format;
  format.bytes = static_cast<double>(bytes_of(spec.dtype));
  if (weights) {
    format.bytes = weights->bits_per_weight / 8.0;
    if (weights->name == "fp8") format.unit = MathUnit::fp8;
    if (weights->name == "fp4" || weights->name == "nvfp4" || weights->name == "mxfp4") {
      format.unit = MathUnit::fp4;
    }
  }
  return {format, format, format, static_cast<double>(kv.bytes)};
}

}  // namespace dure
