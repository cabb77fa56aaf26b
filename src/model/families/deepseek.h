// What DeepSeek-V2, V3, V3.2 and their heirs share.
#pragma once

#include "model/decoder_config.h"
#include "model/latent_config.h"
#include "model/moe_config.h"

namespace dure {

// How their checkpoints spell tensors.
WeightNames deepseek_names();

// Where the file is silent: DeepSeek-V3's, as its configuration class has them.
struct DeepseekDefaults {
  double norm_eps = 1e-6;
  int64_t q_rank = 1536;
  RoutingDefaults routing = {.scale = 2.5, .groups = 8, .kept_groups = 4};
};

// Everything but the indexer: layers of latent attention, of which the first are dense.
void read_deepseek(ConfigReader& config, ModelSpec& spec, const DeepseekDefaults& defaults);

}  // namespace dure
