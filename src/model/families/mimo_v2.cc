// MiMo-V2-Flash: full and windowed layers with heads and thetas of their own, values narrower than
// keys and scaled, sinks on windowed layers; mixtures routed as DeepSeek-V3's.
#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// Keys of windowed layers begin with `prefix`.
GqaSpec read_kind(ConfigReader& config, const std::string& prefix, const GqaSpec* otherwise) {
  const auto integer = [&](const std::string& key, int64_t GqaSpec::*member) {
    const std::string name = prefix + key;
    constexpr IntRange range{1, 4096};
    return otherwise == nullptr ? config.integer(name, range)
                                : config.optional_integer(name, range).value_or(otherwise->*member);
  };
  GqaSpec attention;
  attention.heads = integer("num_attention_heads", &GqaSpec::heads);
  attention.kv_heads = integer("num_key_value_heads", &GqaSpec::kv_heads);
  attention.head_dim = integer("head_dim", &GqaSpec::head_dim);
  attention.v_head_dim = integer("v_head_dim", &GqaSpec::v_head_dim);
  if (attention.heads % attention.kv_heads != 0) {
    config.fail(prefix + "num_key_value_heads",
                fmt::format("{} does not divide {} heads", attention.kv_heads, attention.heads));
  }
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.head_dim));
  attention.value_scale = config.number_or("attention_value_scale", 1.0, 1e-6, 1e6);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  return attention;
}

struct Kinds {
  GqaSpec full;
  GqaSpec windowed;
};

Kinds read_kinds(ConfigReader& config, const ModelSpec& spec) {
  Kinds kinds;
  kinds.full = read_kind(config, "", nullptr);
  kinds.full.sinks = config.boolean_or("add_full_attention_sink_bias", false);
  kinds.full.rope =
      read_rope(config, kinds.full.head_dim, spec.context, {.theta = 5000000.0, .partial = 1.0});
  kinds.windowed = read_kind(config, "swa_", &kinds.full);
  kinds.windowed.sinks = config.boolean_or("add_swa_attention_sink_bias", false);
  kinds.windowed.rope = kinds.full.rope;
  kinds.windowed.rope.theta = config.number_or("swa_rope_theta", 10000.0, 1.0, 1e15);
  if (kinds.windowed.head_dim != kinds.full.head_dim) {
    config.fail("swa_head_dim", fmt::format("{} beside head_dim {} is not supported",
                                            kinds.windowed.head_dim, kinds.full.head_dim));
  }
  kinds.windowed.window = config.integer("sliding_window", {1, int64_t{1} << 30});
  // The same window, and what it is cut into, under names of other code bases.
  config.only_integer("sliding_window_size", *kinds.windowed.window);
  config.only_integer("attention_chunk_size", *kinds.windowed.window);
  return kinds;
}

void read(ConfigReader& config, ModelSpec& spec) {
  config.spelled("rms_norm_eps", "layernorm_epsilon");
  // Implementations differ in what they assume of these.
  for (const char* key :
       {"rms_norm_eps", "rope_theta", "partial_rotary_factor", "attention_value_scale",
        "swa_rope_theta", "add_swa_attention_sink_bias"}) {
    config.require(key);
  }
  read_sizes(config, spec, {});
  const int64_t layers = read_layer_count(config);
  const Kinds kinds = read_kinds(config, spec);
  const auto windowed = read_layer_integers(config, "hybrid_layer_pattern", layers, {0, 1});
  const auto sparse = read_layer_integers(config, "moe_layer_freq", layers, {0, 1});
  if (windowed.empty()) config.fail("hybrid_layer_pattern", "missing");
  if (sparse.empty()) config.fail("moe_layer_freq", "missing");

  const MoeFfn moe = read_deepseek_moe(config, layers, {.shared = 0});
  const DenseFfn dense = read_dense(config);
  spec.names.sinks = "attention_sink_bias";
  spec.names.shared = "shared_experts";
  spec.names.other_parts = {"model.mtp."};
  spec.draft_layers = read_draft_layers(config);
  for (size_t i = 0; i < windowed.size(); ++i) {
    spec.layers.push_back({windowed[i] != 0 ? kinds.windowed : kinds.full,
                           sparse[i] != 0 ? FfnSpec{moe} : FfnSpec{dense}});
  }
}

}  // namespace

const Family mimo_v2_flash_family{"mimo_v2_flash", read};

}  // namespace dure
