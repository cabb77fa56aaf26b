// See decoder_config.h. The bounds keep every product of sizes within 62 bits, and what a config
// alone can make Dure allocate within some tens of megabytes.
#include "model/decoder_config.h"

#include <fmt/format.h>

#include <cmath>

#include "model/rope_config.h"

namespace dure {
namespace {

constexpr IntRange hidden_range{1, int64_t{1} << 18};
constexpr IntRange vocab_range{1, int64_t{1} << 24};
constexpr IntRange context_range{1, int64_t{1} << 30};  // tokens
constexpr IntRange layer_range{1, 1024};
constexpr IntRange head_range{1, 4096};
constexpr IntRange head_dim_range{2, 4096};
constexpr IntRange width_range{1, int64_t{1} << 21};
constexpr IntRange expert_range{1, 16384};
constexpr IntRange token_range{0, INT32_MAX};
constexpr int64_t most_experts_of_all_layers = 131072;

DType read_dtype(ConfigReader& config) {
  // Both spellings may stand side by side; the newer one is what the file was last saved with.
  const std::string older = config.text_or("torch_dtype", "bfloat16");
  std::string name = config.text_or("dtype", older);
  const char* key = config.has("dtype") ? "dtype" : "torch_dtype";
  if (name.starts_with("torch.")) name = name.substr(6);
  const std::optional<DType> dtype = dtype_from_config(name);
  if (!dtype) {
    config.fail(key, fmt::format("\"{:.60}\" is not supported", name),
                "supported: bfloat16, float16, float32");
  }
  return *dtype;
}

void check_architecture(ConfigReader& config) {
  const auto architectures = config.texts_or_empty("architectures", 16);
  if (architectures.empty()) return;
  for (const std::string& name : architectures) {
    if (name.ends_with("ForCausalLM")) return;
  }
  config.fail("architectures", fmt::format("\"{:.80}\" does not generate text", architectures[0]),
              "Dure runs models named …ForCausalLM");
}

}  // namespace

void read_sizes(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults) {
  check_architecture(config);
  spec.hidden = config.integer("hidden_size", hidden_range);
  spec.vocab = config.integer("vocab_size", vocab_range);
  spec.context = config.integer("max_position_embeddings", context_range);
  spec.norm_eps = config.number_or("rms_norm_eps", defaults.norm_eps, 0.0, 1.0);
  spec.tied_embeddings = config.boolean_or("tie_word_embeddings", false);
  spec.dtype = read_dtype(config);
  spec.eos_ids = config.integer_or_list("eos_token_id", token_range, 64);
  config.only_text("hidden_act", "silu");
}

int64_t read_layer_count(ConfigReader& config) {
  return config.integer("num_hidden_layers", layer_range);
}

GqaSpec read_attention(ConfigReader& config, const ModelSpec& spec,
                       const DecoderDefaults& defaults) {
  GqaSpec attention;
  attention.heads = config.integer("num_attention_heads", head_range);
  attention.kv_heads = config.integer_or("num_key_value_heads", attention.heads, head_range);
  if (attention.heads % attention.kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("{} does not divide num_attention_heads = {}",
                                                   attention.kv_heads, attention.heads));
  }
  if (!config.has("head_dim") && !defaults.head_dim && spec.hidden % attention.heads != 0) {
    config.fail("num_attention_heads",
                fmt::format("{} does not divide hidden_size = {}, and head_dim is not stated",
                            attention.heads, spec.hidden));
  }
  const int64_t otherwise = defaults.head_dim.value_or(spec.hidden / attention.heads);
  attention.head_dim = config.integer_or("head_dim", otherwise, head_dim_range);
  if (attention.head_dim % 2 != 0 || attention.head_dim < 2) {
    config.fail("head_dim", fmt::format("{} is odd: rotary embedding turns pairs of dimensions",
                                        attention.head_dim));
  }
  attention.v_head_dim = attention.head_dim;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.head_dim));
  attention.rope = read_rope(config, attention.head_dim, spec.context, defaults.rope_theta);
  return attention;
}

int64_t read_width(ConfigReader& config, std::string_view key) {
  return config.integer(key, width_range);
}

MoeFfn read_moe(ConfigReader& config, std::string_view experts_key, std::string_view width_key,
                int64_t layers) {
  MoeFfn moe;
  moe.experts = config.integer(experts_key, expert_range);
  if (moe.experts * layers > most_experts_of_all_layers) {
    config.fail(experts_key, fmt::format("{} in each of {} layers: more than {} experts in all",
                                         moe.experts, layers, most_experts_of_all_layers));
  }
  moe.top_k = config.integer("num_experts_per_tok", {1, moe.experts});
  moe.intermediate = read_width(config, width_key);
  return moe;
}

std::vector<std::optional<int64_t>> read_windows(ConfigReader& config, int64_t layers,
                                                 std::optional<int64_t> window, int64_t first) {
  std::vector<std::optional<int64_t>> windows(static_cast<size_t>(layers));
  const auto types = config.texts_or_empty("layer_types", static_cast<size_t>(layer_range.most));
  if (!types.empty() && types.size() != windows.size()) {
    config.fail("layer_types", fmt::format("{} entries for {} layers", types.size(), layers));
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    bool windowed = static_cast<int64_t>(i) >= first;
    if (!types.empty()) {
      if (types[i] != "full_attention" && types[i] != "sliding_attention") {
        config.fail("layer_types", fmt::format("\"{:.60}\" is not supported", types[i]),
                    "supported: full_attention, sliding_attention");
      }
      windowed = types[i] == "sliding_attention";
      if (windowed && !window)
        config.fail("sliding_window", "missing, but layer_types asks for it");
    }
    if (windowed) windows[i] = window;
  }
  return windows;
}

std::optional<int64_t> read_switched_window(ConfigReader& config) {
  const bool on = config.boolean_or("use_sliding_window", false);
  const bool stated = config.has("sliding_window");
  const int64_t window = config.integer_or("sliding_window", 0, context_range);
  if (!on || !stated) return std::nullopt;
  return window;
}

std::vector<bool> read_sparse_layers(ConfigReader& config, int64_t layers) {
  const int64_t step = config.integer_or("decoder_sparse_step", 1, layer_range);
  std::vector<bool> sparse(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) sparse[static_cast<size_t>(i)] = (i + 1) % step == 0;
  const auto dense = config.integers_or_empty("mlp_only_layers", {0, layers - 1},
                                              static_cast<size_t>(layer_range.most));
  for (int64_t i : dense) sparse[static_cast<size_t>(i)] = false;
  return sparse;
}

}  // namespace dure
