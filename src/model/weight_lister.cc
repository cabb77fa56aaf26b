// See weight_lister.h.
#include "model/weight_lister.h"

namespace dure {

Weight& WeightLister::add(std::string_view name, Part part, Split split,
                          std::vector<int64_t> shape) {
  const int64_t inputs = shape.size() == 2 ? shape[1] : 1;
  std::vector<int64_t> tensor = shape;
  return add_part(name, part, split, std::move(shape), std::move(tensor), {.row_stride = inputs});
}

Weight& WeightLister::add_f32(std::string_view name, Part part, std::vector<int64_t> shape) {
  Weight& weight = add(name, part, Split::replicated, std::move(shape));
  weight.dtype = DType::f32;
  return weight;
}

Weight& WeightLister::add_part(std::string_view name, Part part, Split split,
                               std::vector<int64_t> shape, std::vector<int64_t> tensor,
                               WeightView view) {
  Weight weight;
  weight.name = prefix_ + std::string(name);
  weight.part = part;
  weight.split = split;
  weight.layer = layer_;
  weight.expert = expert_;
  weight.head = head_;
  weight.dtype = spec_.dtype;
  weight.shape = std::move(shape);
  weight.tensor_shape = std::move(tensor);
  weight.view = view;
  weights_.push_back(std::move(weight));
  return weights_.back();
}

void WeightLister::norm(std::string_view name, Part part, int64_t width, Split split) {
  Weight& weight = add(std::string(name) + ".weight", part, split, {width});
  weight.plus_one = spec_.norms_plus_one;
}

}  // namespace dure
