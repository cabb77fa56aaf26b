// Phi-3 and Phi-4 (arXiv:2404.14219): Llama with q, k, v in one tensor and gate, up in another;
// longer contexts by a divisor for each pair of dimensions.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_heads(config, spec, defaults);
  RopeDefaults rope{.partial = 1.0};
  rope.original_context =
      config.integer_or("original_max_position_embeddings", 4096, {1, int64_t{1} << 30});
  rope.original_stated = config.has("original_max_position_embeddings");
  attention.rope = read_rope(config, attention.head_dim, spec.context, rope);
  attention.window = read_window(config);

  const DenseFfn ffn = read_dense(config);
  config.only_flag("attention_bias", false);
  config.only_flag("mlp_bias", false);
  config.only_flag("lm_head_bias", false);
  config.only_integer("full_attn_mod", 1);
  config.only_integer("interpolate_factor", 1);

  spec.names = {.fused_qkv = true, .fused_gate_up = true};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, ffn});
}

}  // namespace

const Family phi3_family{"phi3", read};

}  // namespace dure
