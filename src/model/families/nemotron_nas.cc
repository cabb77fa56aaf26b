// Llama-Nemotron Super and Ultra (arXiv:2505.00949): Llama whose layers were searched one by one,
// some without attention or feed-forward part, widths and kv heads of their own.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

constexpr int64_t width_step = 256;  // widths are rounded up to

// Whether the part of a block is there; refuses what it could be instead.
bool read_presence(ConfigReader& part) {
  part.only_flag("replace_with_linear", false);
  part.refuse("sparsify", "is not supported");
  return !part.boolean_or("no_op", false);
}

AttentionSpec read_attention_of(ConfigReader& block, const GqaSpec& attention) {
  std::optional<ConfigReader> part = block.object("attention");
  if (!part) block.fail("attention", "missing");
  const bool present = read_presence(*part);
  part->refuse("window_length", "windows are not supported for this family");
  part->refuse("num_sink_tokens", "sink tokens are not supported");
  part->only_flag("unshifted_sink", false);
  part->only_flag("use_prefill_window_in_sink_attention", false);
  GqaSpec own = attention;
  if (present) {
    const int64_t group = part->integer("n_heads_in_group", {1, attention.heads});
    if (attention.heads % group != 0) {
      part->fail("n_heads_in_group", fmt::format("{} does not divide num_attention_heads = {}",
                                                 group, attention.heads));
    }
    own.kv_heads = attention.heads / group;
  } else {
    part->ignore("n_heads_in_group");
  }
  part->finish();
  return present ? AttentionSpec{own} : AttentionSpec{std::monostate{}};
}

FfnSpec read_ffn_of(ConfigReader& block, int64_t hidden, const ActivationSpec& activation) {
  std::optional<ConfigReader> part = block.object("ffn");
  if (!part) block.fail("ffn", "missing");
  const bool present = read_presence(*part);
  DenseFfn dense{.activation = activation};
  if (present) {
    const double factor = part->number("ffn_mult", 1e-6, 64.0);
    const auto width = static_cast<int64_t>(2 * factor * static_cast<double>(hidden) / 3);
    dense.intermediate = (width + width_step - 1) / width_step * width_step;
  } else {
    part->ignore("ffn_mult");
  }
  part->finish();
  return present ? FfnSpec{dense} : FfnSpec{std::monostate{}};
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);
  GqaSpec attention = read_attention(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  config.only_flag("mlp_bias", false);
  const ActivationSpec activation = read_activation(config);
  config.refuse("intermediate_size", "stated for all layers, which block_configs has one by one");

  std::vector<ConfigReader> blocks = config.objects("block_configs", 1024);
  if (static_cast<int64_t>(blocks.size()) != layers) {
    config.fail("block_configs", fmt::format("{} entries for {} layers", blocks.size(), layers));
  }
  for (ConfigReader& block : blocks) {
    LayerSpec layer{read_attention_of(block, attention),
                    read_ffn_of(block, spec.hidden, activation)};
    block.finish();
    spec.layers.push_back(layer);
  }
}

}  // namespace

const Family nemotron_nas_family{"nemotron-nas", read};

}  // namespace dure
