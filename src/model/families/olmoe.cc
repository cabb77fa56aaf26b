// OLMoE (Muennighoff et al. 2024, arXiv:2409.02060): every layer a mixture; q and k are normalised
// over the whole projection.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.qk_norm = QkNorm::whole;
  config.refuse("clip_qkv", "clipping q, k and v is not supported");

  MoeFfn moe = read_moe(config, layers, {.width = "intermediate_size", .chosen = 8});
  moe.router.normalize = config.boolean_or("norm_topk_prob", false);

  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, moe});
}

}  // namespace

const Family olmoe_family{"olmoe", read};

}  // namespace dure
