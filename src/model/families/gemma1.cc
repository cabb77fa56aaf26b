// The first Gemma (arXiv:2403.08295): Llama with GELU, norms stored minus one, a scaled and tied
// embedding.
#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.head_dim = 256, .context = 8192, .tied = true};
  read_sizes(config, spec, defaults);
  spec.norms_plus_one = true;
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;

  config.ignore("hidden_act");  // exact GELU by its name, but the releases' code takes the other
  const DenseFfn ffn{
      .intermediate = read_width(config, "intermediate_size"),
      .activation = read_activation(config, "hidden_activation", "gelu_pytorch_tanh")};
  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, ffn});
  spec.planned_only = "the first Gemma has not been held against its release yet";
}

}  // namespace

const Family gemma_family{"gemma", read};

}  // namespace dure
