// The rotary settings of a config.json, in every spelling that released checkpoints use.
#pragma once

#include <optional>

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

// What a family assumes where the file is silent.
struct RopeDefaults {
  std::optional<double> theta = 10000.0;  // without one it must be stated
  // Of families that turn only a part of each head: how much of it. Others turn whole heads.
  std::optional<double> partial = std::nullopt;
  // original_max_position_embeddings, where it stands outside the rotary settings.
  std::optional<int64_t> original_context = std::nullopt;
  bool original_stated = false;  // whether the file states it there
  bool alpha = false;            // whether the kind `dynamic` has one, which enlarges theta
};

// Reads `rope_parameters`, or `rope_theta` with `rope_scaling` (whose kind is `rope_type` or, in
// older files, `type`). `context` is max_position_embeddings. Throws bad_input for a kind that is
// not RopeKind, by name.
RopeSpec read_rope(ConfigReader& config, int64_t head_dim, int64_t context,
                   const RopeDefaults& defaults);

// Of one object of rotary settings, such as those that `rope_parameters` holds for each layer type.
RopeSpec read_rope_object(ConfigReader& object, int64_t head_dim, int64_t context,
                          const RopeDefaults& defaults);

// How much longer wavelengths sharpen attention: 0.1 m ln(factor) + 1 (YaRN, equation 22).
double yarn_mscale(double factor, double m);

}  // namespace dure
