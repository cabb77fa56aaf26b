// Written by planner_accuracy --write from 1220 measured runs; do not edit.
#pragma once

#include "simulate/serving_profile.h"

namespace dure::calibrated {

inline constexpr ErrorBand ttft_band = {0.70, 1.52};
inline constexpr ErrorBand tpot_band = {0.84, 1.20};

inline constexpr TimeConstants vllm = {
    .read = 0.7653,
    .cache_read = 0.5839,
    .expert_read = 0.3965,
    .math = 0.7432,
    .expert_math = 0.3429,
    .attention_math = 0.2757,
    .half_rows = 123.8,
    .collective = 4.64e-06,
    .hop = 1.213e-06,
    .distinct = 1.01,
    .fp4_input = 2.145e-06,
    .link = 0.6218,
    .layer = 2.609e-05,
    .expert_layer = 1.326e-05,
    .step = 0.00075,
    .sequence = 6.688e-06,
    .prefill_layer = 0.00029,
    .arrival = 0.002024,
    .first_token = 0.02082,
};

inline constexpr TimeConstants sglang = {
    .read = 0.7763,
    .cache_read = 0.5882,
    .expert_read = 0.6845,
    .math = 0.7478,
    .expert_math = 0.3425,
    .attention_math = 0.2764,
    .half_rows = 123.7,
    .collective = 4.628e-06,
    .hop = 1.209e-06,
    .distinct = 1.005,
    .fp4_input = 2.142e-06,
    .link = 0.6237,
    .layer = 2.587e-05,
    .expert_layer = 1.326e-05,
    .step = 0.0007476,
    .sequence = 6.682e-06,
    .prefill_layer = 0.0002899,
    .arrival = 0.002024,
    .first_token = 0.1302,
};

inline constexpr TimeConstants trtllm = {
    .read = 0.778,
    .cache_read = 0.5871,
    .expert_read = 0.6897,
    .math = 0.7443,
    .expert_math = 0.3426,
    .attention_math = 0.2764,
    .half_rows = 123.5,
    .collective = 4.622e-06,
    .hop = 1.208e-06,
    .distinct = 0.9999,
    .fp4_input = 2.142e-06,
    .link = 0.6219,
    .layer = 2.58e-05,
    .expert_layer = 1.325e-05,
    .step = 0.0007471,
    .sequence = 6.686e-06,
    .prefill_layer = 0.000291,
    .arrival = 0.002024,
    .first_token = 0.06225,
};

}  // namespace dure::calibrated
