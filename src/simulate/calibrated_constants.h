// Written by planner_accuracy --write; do not edit.
#pragma once

#include "simulate/serving_profile.h"

namespace dure::calibrated {

inline constexpr ErrorBand ttft_band = {0.6, 1.6};
inline constexpr ErrorBand tpot_band = {0.8, 1.25};

inline constexpr TimeConstants vllm = {};
inline constexpr TimeConstants sglang = {};
inline constexpr TimeConstants trtllm = {};

}  // namespace dure::calibrated
