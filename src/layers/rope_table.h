// cos and sin of the rotary embedding for the positions of a batch, with the context extensions
// that checkpoints name: linear, Llama 3 bands, YaRN (Peng et al. 2023, arXiv:2309.00071).
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"
#include "model/spec.h"

namespace dure {

// [dims / 2], radians per position. fp32 as the reference implementations keep them.
std::vector<float> rope_frequencies(const RopeSpec& rope);

// Row i of the table belongs to positions[i].
RopeTable make_rope_table(const RopeSpec& rope, std::span<const int32_t> positions);

}  // namespace dure
