// GLM-4.5 and 4.6 (arXiv:2508.06471): half of each head rotated, biases on q, k and v; dense
// layers, then mixtures routed as DeepSeek-V3's.
#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5, .partial_rotary = 0.5, .kv_heads = 8};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  if (config.boolean_or("use_qk_norm", false)) attention.qk_norm = QkNorm::per_head;

  const RoutingDefaults routing{.dense = 1};
  const MoeFfn moe = read_deepseek_moe(config, layers, routing);
  const DenseFfn dense = read_dense(config);

  spec.names.shared = "shared_experts";
  spec.layers = mix_layers(std::vector<AttentionSpec>(static_cast<size_t>(layers), attention),
                           read_deepseek_sparse_layers(config, layers, routing.dense), dense, moe);
  spec.draft_layers = read_draft_layers(config);
}

}  // namespace

const Family glm4_moe_family{"glm4_moe", read};

}  // namespace dure
