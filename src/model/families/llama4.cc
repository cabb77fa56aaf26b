// The text part of Llama 4 (Scout, Maverick): three rotated layers that see chunks, then one
// without positions that sees all; mixtures of one expert, whose score multiplies its input, beside
// a shared one.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// no_rope_layers holds 1 for layers that rotate; where it is absent or, as in releases, empty, all
// do but each no_rope_layer_interval-th.
std::vector<bool> rotated_layers(ConfigReader& config, int64_t layers) {
  auto stated = config.integers_or_empty("no_rope_layers", {0, 1}, 1024);
  if (!stated.empty()) stated = read_layer_integers(config, "no_rope_layers", layers, {0, 1});
  const int64_t interval = config.integer_or("no_rope_layer_interval", 4, {1, 1024});
  std::vector<bool> rotated(static_cast<size_t>(layers));
  for (size_t i = 0; i < rotated.size(); ++i) {
    rotated[i] = static_cast<int64_t>(i + 1) % interval != 0;
    if (stated.empty()) continue;
    if (config.has("no_rope_layer_interval") && rotated[i] != (stated[i] != 0)) {
      config.fail("no_rope_layer_interval",
                  fmt::format("{} contradicts no_rope_layers at layer {}", interval, i));
    }
    rotated[i] = stated[i] != 0;
  }
  return rotated;
}

std::vector<bool> chunked_layers(ConfigReader& config, int64_t layers,
                                 const std::vector<bool>& rotated) {
  const auto types = read_layer_texts(config, "layer_types", layers);
  if (types.empty()) return rotated;
  std::vector<bool> chunked;
  for (const std::string& type : types) {
    if (type != "chunked_attention" && type != "full_attention") {
      config.fail("layer_types", fmt::format("\"{:.60}\" is not supported", type),
                  "supported: chunked_attention, full_attention");
    }
    chunked.push_back(type == "chunked_attention");
  }
  return chunked;
}

std::vector<bool> sparse_layers(ConfigReader& config, int64_t layers) {
  const int64_t step = config.integer_or("interleave_moe_layer_step", 1, {1, 1024});
  std::vector<bool> by_step(static_cast<size_t>(layers));
  for (int64_t i = step - 1; i < layers; i += step) by_step[static_cast<size_t>(i)] = true;
  if (!config.has("moe_layers")) return by_step;
  std::vector<bool> sparse(static_cast<size_t>(layers));
  for (int64_t i : config.integers_or_empty("moe_layers", {0, layers - 1}, 1024)) {
    if (sparse[static_cast<size_t>(i)]) {
      config.fail("moe_layers", fmt::format("layer {} is listed twice", i));
    }
    sparse[static_cast<size_t>(i)] = true;
  }
  if (config.has("interleave_moe_layer_step") && sparse != by_step) {
    config.fail("moe_layers", "contradicts interleave_moe_layer_step", "keep one of the two");
  }
  return sparse;
}

std::vector<AttentionSpec> read_layers_of_attention(ConfigReader& config, const ModelSpec& spec,
                                                    int64_t layers) {
  GqaSpec rotating =
      read_attention(config, spec, {.rope_theta = 500000.0, .head_dim = 128, .kv_heads = 8});
  rotating.rope.interleaved = true;
  rotating.qkv_bias = config.boolean_or("attention_bias", false);
  rotating.o_bias = rotating.qkv_bias;
  GqaSpec still = rotating;
  still.rope = {.kind = RopeKind::none};
  if (config.boolean_or("use_qk_norm", true)) {
    rotating.qk_norm = QkNorm::weightless;
    rotating.norm_after_rope = true;
  }
  TemperatureTuning tuning;
  tuning.floor_scale = config.number_or("floor_scale", tuning.floor_scale, 1.0, 1e12);
  tuning.scale = config.number_or("attn_scale", tuning.scale, 0.0, 1e6);
  if (config.truth_or("attn_temperature_tuning", true)) still.temperature = tuning;

  std::optional<int64_t> chunk;
  if (config.has("attention_chunk_size") || !config.mentions("attention_chunk_size")) {
    chunk = config.integer_or("attention_chunk_size", 8192, {1, int64_t{1} << 30});
  }
  const std::vector<bool> rotated = rotated_layers(config, layers);
  const std::vector<bool> chunked = chunked_layers(config, layers, rotated);
  std::vector<AttentionSpec> all;
  for (size_t i = 0; i < rotated.size(); ++i) {
    GqaSpec attention = rotated[i] ? rotating : still;
    if (chunked[i]) attention.chunk = chunk;
    all.emplace_back(attention);
  }
  return all;
}

void read(ConfigReader& config, ModelSpec& spec) {
  read_sizes(config, spec, {.norm_eps = 1e-5, .vocab = 202048, .context = 131072});
  const int64_t layers = read_layer_count(config, {.layers = 48});

  MoeFfn moe;
  read_expert_count(config, layers, {.experts = "num_local_experts", .chosen = 1}, moe);
  moe.intermediate = read_width(config, "intermediate_size");
  moe.activation = read_activation(config);
  moe.router = {.score = RouterScore::sigmoid, .scales_input = true};
  moe.shared = SharedExpert{.intermediate = moe.intermediate};
  const DenseFfn dense{.intermediate = read_width(config, "intermediate_size_mlp"),
                       .activation = moe.activation};
  config.ignore("router_jitter_noise");  // training only
  config.only_flag("for_llm_compressor", false);

  spec.names = {.dense_block = "feed_forward",
                .moe_block = "feed_forward",
                .router = "router",
                .experts = ExpertStorage::stacked_in_out};
  spec.layers = mix_layers(read_layers_of_attention(config, spec, layers),
                           sparse_layers(config, layers), dense, moe);
}

}  // namespace

const Family llama4_family{"llama4_text", read};

}  // namespace dure
