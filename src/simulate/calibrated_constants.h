// Written by planner_accuracy --write from 1220 measured runs; do not edit.
#pragma once

#include "simulate/serving_profile.h"

namespace dure::calibrated {

inline constexpr ErrorBand ttft_band = {0.70, 1.51};
inline constexpr ErrorBand tpot_band = {0.84, 1.20};

inline constexpr TimeConstants vllm = {
    .read = 0.7711,
    .cache_read = 0.577,
    .expert_read = 0.3997,
    .math = 0.7476,
    .expert_math = 0.3106,
    .attention_math = 0.2714,
    .half_rows = 129.4,
    .collective = 4.489e-06,
    .hop = 1.221e-06,
    .node_hop = 1.5e-05,
    .distinct = 1.035,
    .fp4_input = 2.135e-06,
    .link = 0.6327,
    .layer = 2.64e-05,
    .expert_layer = 1.334e-05,
    .step = 0.0007485,
    .sequence = 6.611e-06,
    .prefill_layer = 0.0002934,
    .arrival = 0.002016,
    .first_token = 0.02106,
};

inline constexpr TimeConstants sglang = {
    .read = 0.7825,
    .cache_read = 0.5812,
    .expert_read = 0.691,
    .math = 0.7519,
    .expert_math = 0.3102,
    .attention_math = 0.2722,
    .half_rows = 129.3,
    .collective = 4.477e-06,
    .hop = 1.218e-06,
    .node_hop = 1.5e-05,
    .distinct = 1.03,
    .fp4_input = 2.132e-06,
    .link = 0.6347,
    .layer = 2.616e-05,
    .expert_layer = 1.334e-05,
    .step = 0.0007461,
    .sequence = 6.605e-06,
    .prefill_layer = 0.0002933,
    .arrival = 0.002016,
    .first_token = 0.1318,
};

inline constexpr TimeConstants trtllm = {
    .read = 0.7844,
    .cache_read = 0.5802,
    .expert_read = 0.6962,
    .math = 0.7487,
    .expert_math = 0.3104,
    .attention_math = 0.2721,
    .half_rows = 129.2,
    .collective = 4.47e-06,
    .hop = 1.217e-06,
    .node_hop = 1.5e-05,
    .distinct = 1.025,
    .fp4_input = 2.132e-06,
    .link = 0.6332,
    .layer = 2.61e-05,
    .expert_layer = 1.334e-05,
    .step = 0.0007457,
    .sequence = 6.608e-06,
    .prefill_layer = 0.0002944,
    .arrival = 0.002017,
    .first_token = 0.063,
};

}  // namespace dure::calibrated
