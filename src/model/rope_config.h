// The rotary settings of a config.json, in every spelling that released checkpoints use.
#pragma once

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

// Reads `rope_parameters`, or `rope_theta` with `rope_scaling` (whose kind is `rope_type` or, in
// older files, `type`). `context` is max_position_embeddings. Throws bad_input for a kind that is
// not RopeKind, by name.
RopeSpec read_rope(ConfigReader& config, int64_t head_dim, int64_t context, double default_theta);

}  // namespace dure
