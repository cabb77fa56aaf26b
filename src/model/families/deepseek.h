// What DeepSeek-V2, V3, V3.2 and their heirs share.
#pragma once

#include "model/decoder_config.h"
#include "model/latent_config.h"
#include "model/moe_config.h"

namespace dure {

// How their checkpoints spell tensors.
WeightNames deepseek_names();

// Everything but the indexer: layers of latent attention, of which the first are dense.
void read_deepseek(ConfigReader& config, ModelSpec& spec, const RoutingDefaults& routing);

}  // namespace dure
