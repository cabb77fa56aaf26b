// In which numbers a plan counts the matrices of a model: as its release names them, or as asked.
#pragma once

#include <optional>
#include <string_view>

#include "cost/weight_format.h"
#include "model/spec.h"

namespace dure {

// `name` empty: the format of the release. A plain type becomes the spec's, and nothing is
// returned; a block format is returned, to be counted beside the spec. Throws bad_input for an
// unknown name.
std::optional<WeightFormat> retype(ModelSpec& spec, std::string_view name);

}  // namespace dure
