// Mistral 7B and its kin (Jiang et al. 2023, arXiv:2310.06825): Llama with a sliding window.
#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

// The family's default where sliding_window is not mentioned at all; null switches it off.
constexpr int64_t default_window = 4096;

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.kv_heads = 8};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  config.only_flag("attention_bias", false);
  config.only_flag("mlp_bias", false);
  std::optional<int64_t> window;
  if (config.has("sliding_window") || !config.mentions("sliding_window")) {
    window = config.integer_or("sliding_window", default_window, {1, int64_t{1} << 30});
  }
  const auto windows = read_windows(config, layers, window, 0);

  const DenseFfn ffn = read_dense(config);
  for (const auto& each : windows) {
    attention.window = each;
    spec.layers.push_back({attention, ffn});
  }
}

}  // namespace

const Family mistral_family{"mistral", read};

}  // namespace dure
