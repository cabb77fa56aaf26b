// Llama 2 and 3 and what is saved in their form: the plainest decoder.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults;
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;

  DenseFfn ffn = read_dense(config);
  ffn.bias = config.boolean_or("mlp_bias", false);

  spec.layers.assign(static_cast<size_t>(layers), LayerSpec{attention, ffn});
}

}  // namespace

const Family llama_family{"llama", read};

}  // namespace dure
