// Phi-1.5 and Phi-2 (arXiv:2309.05463): attention and a feed-forward part without gate beside each
// other, both with biases, behind one LayerNorm; a part of each head turns. Planned only, and
// counted without what its LayerNorms and head add to each output: under a ten thousandth.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.norm_eps = 1e-5, .partial_rotary = 0.5, .context = 2048};
  config.ignore({"layer_norm_eps", "qk_layernorm"});
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = attention.o_bias = true;
  const ActivationSpec without_gate{.kind = Activation::relu_squared};
  config.one_of("hidden_act", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"});
  const DenseFfn ffn{.intermediate = read_width(config, "intermediate_size"),
                     .activation = without_gate,
                     .bias = true};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, ffn});
  spec.planned_only = "attention and feed-forward parts beside each other are not run yet";
}

}  // namespace

const Family phi_family{"phi", read};

}  // namespace dure
