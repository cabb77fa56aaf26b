// Steps 1 to 3 of kernels/sample.h, on a copy of the row.
#pragma once

#include <span>
#include <vector>

#include "kernels/sample.h"

namespace dure {

void apply_rules(std::span<const float> logits, const LogitRules& rules, std::span<float> out);

}  // namespace dure
