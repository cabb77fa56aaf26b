// See numbers.h. Floats of 4 bits whose scales the matrix units apply are multiplied as they are,
// integers are widened first and multiplied as bf16.
#include "plan/numbers.h"

#include <algorithm>
#include <map>

#include "cost/retype.h"

namespace dure {
namespace {

MatrixFormat matrix_format(const WeightFormat& weights) {
  MatrixFormat format;
  format.bytes = weights.bits_per_weight / 8.0;
  if (weights.name == "fp8" || weights.name == "mxfp8") format.unit = MathUnit::fp8;
  if (weights.name == "fp4" || weights.name == "nvfp4" || weights.name == "mxfp4") {
    format.unit = MathUnit::fp4;
  }
  return format;
}

// Weights of one role.
class Role {
 public:
  void add(const Weight& weight, const MatrixFormat& format, double count) {
    const double elements = static_cast<double>(weight.elements()) * count;
    elements_ += elements;
    bytes_ += elements * format.bytes;
    of_unit_[format.unit] += elements;
  }
  MatrixFormat mean(const MatrixFormat& otherwise) const {
    if (elements_ == 0.0) return otherwise;
    MatrixFormat format{bytes_ / elements_, otherwise.unit};
    double most = 0.0;
    for (const auto& [unit, elements] : of_unit_) {
      if (elements <= most) continue;
      most = elements;
      format.unit = unit;
    }
    return format;
  }

 private:
  double elements_ = 0.0;
  double bytes_ = 0.0;
  std::map<MathUnit, double> of_unit_;
};

}  // namespace

Numbers numbers_of(const ModelSpec& spec, const std::optional<WeightFormat>& weights) {
  MatrixFormat plain;
  plain.bytes = static_cast<double>(bytes_of(spec.dtype));
  Numbers numbers{plain, plain, plain, 2.0};
  if (!weights) return numbers;
  Role attention;
  Role dense;
  Role experts;
  for (const Weight& weight : inventory_of_kinds(spec)) {
    if (weight.layer < 0 || weight.expert > 0 || !is_retyped(weight)) continue;
    const auto format = counted_in(weight, spec, weights);
    Role& role = weight.expert == 0 ? experts : is_of_feed_forward(weight.part) ? dense : attention;
    const LayerSpec& layer = spec.layers[static_cast<size_t>(weight.layer)];
    const auto alike = std::count(spec.layers.begin(), spec.layers.end(), layer);
    role.add(weight, format ? matrix_format(*format) : plain, static_cast<double>(alike));
  }
  const MatrixFormat asked = matrix_format(*weights);
  return {attention.mean(plain), dense.mean(plain), experts.mean(asked), 2.0};
}

}  // namespace dure
