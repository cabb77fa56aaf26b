// Number formats that weights are re-typed to on paper: `dure fit --weights fp8`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/weight_format.h"

namespace dure {

// Throws bad_input naming the known ones.
WeightFormat find_weight_format(std::string_view name);
std::vector<std::string> known_weight_formats();

// Rounded up; at most most_bytes.
int64_t bytes_in(const WeightFormat& format, int64_t weights);

}  // namespace dure
