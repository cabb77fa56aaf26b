// Gemma 2 (arXiv:2408.00118) and the text part of Gemma 3 (arXiv:2503.19786): norms before and
// after attention and feed-forward part, stored minus one; a scaled embedding; most layers
// windowed.
#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"

namespace dure {
namespace {

// What both have, but attention.
DenseFfn read_body(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults) {
  read_sizes(config, spec, defaults);
  spec.norms_plus_one = true;
  spec.norms_after = true;
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  spec.names.after_attention_norm = "post_attention_layernorm";
  spec.names.ffn_norm = "pre_feedforward_layernorm";
  spec.names.after_ffn_norm = "post_feedforward_layernorm";
  config.ignore("hidden_act");  // hidden_activation is what counts
  return {.intermediate = read_width_or(config, "intermediate_size", defaults.intermediate),
          .activation = read_activation(config, "hidden_activation", "gelu_pytorch_tanh")};
}

GqaSpec read_scaled_heads(ConfigReader& config, const ModelSpec& spec,
                          const DecoderDefaults& defaults) {
  GqaSpec attention = read_heads(config, spec, defaults);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.scale = 1.0 / std::sqrt(config.number_or("query_pre_attn_scalar", 256.0, 1e-3, 1e6));
  config.only_flag("use_bidirectional_attention", false);
  return attention;
}

// Absent and null differ where the family has a default.
double read_softcap(ConfigReader& config, std::string_view key, double otherwise) {
  if (config.mentions(key)) otherwise = 0.0;
  return config.optional_number(key, 0.0, 1e6).value_or(otherwise);
}

int64_t read_window_or(ConfigReader& config, int64_t otherwise) {
  const int64_t window = config.integer_or("sliding_window", otherwise, {1, int64_t{1} << 30});
  config.only_integer("sliding_window_size", window);  // the same, under an older name
  return window;
}

void read_gemma2(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.head_dim = 256, .context = 8192, .kv_heads = 4, .tied = true};
  const DenseFfn ffn = read_body(config, spec, defaults);
  const int64_t layers = read_layer_count(config);
  GqaSpec attention = read_scaled_heads(config, spec, defaults);
  attention.rope = read_rope(config, attention.head_dim, spec.context, {});
  attention.softcap = read_softcap(config, "attn_logit_softcapping", 50.0);
  spec.logit_softcap = read_softcap(config, "final_logit_softcapping", 30.0);
  const int64_t window = read_window_or(config, 4096);
  for (const auto& each : read_window_pattern(config, layers, window, 2)) {
    attention.window = each;
    spec.layers.push_back({attention, ffn});
  }
}

// Of windowed layers and of those that see all. Older files state the first as a theta alone.
struct Ropes {
  RopeSpec windowed;
  RopeSpec full;
};

// The older spelling may stand beside the newer.
void same_theta(ConfigReader& config, const char* key, double theta) {
  if (config.optional_number(key, 1.0, 1e15).value_or(theta) == theta) return;
  config.fail(key, fmt::format("contradicts rope_parameters, which say {}", theta));
}

Ropes read_ropes(ConfigReader& config, int64_t head_dim, int64_t context) {
  constexpr double windowed_theta = 10000.0;
  constexpr double full_theta = 1000000.0;
  constexpr RopeDefaults windowed{.theta = windowed_theta};
  constexpr RopeDefaults full{.theta = full_theta};
  Ropes ropes;
  std::optional<ConfigReader> typed = config.object("rope_parameters");
  if (typed && (typed->has("full_attention") || typed->has("sliding_attention"))) {
    ropes.full.theta = full_theta;
    ropes.windowed.theta = windowed_theta;
    ropes.full.dims = ropes.windowed.dims = head_dim;
    if (auto object = typed->object("full_attention")) {
      ropes.full = read_rope_object(*object, head_dim, context, full);
    }
    if (auto object = typed->object("sliding_attention")) {
      ropes.windowed = read_rope_object(*object, head_dim, context, windowed);
    }
    same_theta(config, "rope_theta", ropes.full.theta);
    same_theta(config, "rope_local_base_freq", ropes.windowed.theta);
    typed->finish();
    return ropes;
  }
  ropes.full = read_rope(config, head_dim, context, full);
  ropes.windowed.dims = head_dim;
  ropes.windowed.theta = config.number_or("rope_local_base_freq", windowed_theta, 1.0, 1e15);
  return ropes;
}

int64_t read_pattern(ConfigReader& config) {
  constexpr IntRange range{1, 1024};
  const int64_t pattern = config.integer_or("sliding_window_pattern", 6, range);
  const int64_t older = config.integer_or("_sliding_window_pattern", pattern, range);
  if (config.has("sliding_window_pattern") && older != pattern) {
    config.fail("_sliding_window_pattern",
                fmt::format("{} contradicts sliding_window_pattern {}", older, pattern));
  }
  return older;
}

// layer_types, which decide, may stand beside a pattern.
void check_pattern(const ConfigReader& config, const std::vector<std::optional<int64_t>>& windows,
                   int64_t pattern) {
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    for (size_t i = 0; config.has(key) && i < windows.size(); ++i) {
      if (windows[i].has_value() != (static_cast<int64_t>(i + 1) % pattern != 0)) {
        config.fail(key, fmt::format("{} contradicts layer_types at layer {}", pattern, i));
      }
    }
  }
}

// The text parts of released checkpoints with images leave most sizes to these.
void read_gemma3(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{.head_dim = 256,
                                 .hidden = 2304,
                                 .vocab = 262208,
                                 .context = 131072,
                                 .layers = 26,
                                 .heads = 8,
                                 .kv_heads = 4,
                                 .intermediate = 9216,
                                 .tied = true};
  const DenseFfn ffn = read_body(config, spec, defaults);
  const int64_t layers = read_layer_count(config, defaults);
  GqaSpec attention = read_scaled_heads(config, spec, defaults);
  attention.qk_norm = QkNorm::per_head;
  attention.softcap = read_softcap(config, "attn_logit_softcapping", 0.0);
  spec.logit_softcap = read_softcap(config, "final_logit_softcapping", 0.0);
  const int64_t window = read_window_or(config, 4096);
  const int64_t pattern = read_pattern(config);
  const Ropes ropes = read_ropes(config, attention.head_dim, spec.context);
  const auto windows = read_window_pattern(config, layers, window, pattern);
  check_pattern(config, windows, pattern);
  for (const auto& each : windows) {
    attention.window = each;
    attention.rope = each ? ropes.windowed : ropes.full;
    spec.layers.push_back({attention, ffn});
  }
}

}  // namespace

const Family gemma2_family{"gemma2", read_gemma2};
const Family gemma3_family{"gemma3_text", read_gemma3};

}  // namespace dure
