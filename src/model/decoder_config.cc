// See decoder_config.h. The bounds keep every product of sizes within 62 bits, and what a config
// alone can make Dure allocate within some tens of megabytes.
#include "model/decoder_config.h"

#include <fmt/format.h>

#include <cmath>

namespace dure {
namespace {

constexpr IntRange hidden_range{1, int64_t{1} << 18};
constexpr IntRange vocab_range{1, int64_t{1} << 24};
constexpr IntRange context_range{1, int64_t{1} << 30};  // tokens
constexpr IntRange layer_range{1, 1024};
constexpr IntRange head_range{1, 4096};
constexpr IntRange head_dim_range{2, 4096};
constexpr IntRange width_range{1, int64_t{1} << 21};
constexpr IntRange token_range{0, INT32_MAX};

int64_t integer_or_required(ConfigReader& config, std::string_view key,
                            const std::optional<int64_t>& otherwise, IntRange range) {
  return otherwise ? config.integer_or(key, *otherwise, range) : config.integer(key, range);
}

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

}  // namespace

void read_sizes(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults) {
  spec.hidden = integer_or_required(config, "hidden_size", defaults.hidden, hidden_range);
  spec.vocab = integer_or_required(config, "vocab_size", defaults.vocab, vocab_range);
  spec.context =
      integer_or_required(config, "max_position_embeddings", defaults.context, context_range);
  spec.norm_eps = config.number_or("rms_norm_eps", defaults.norm_eps, 0.0, 1.0);
  spec.tied_embeddings = config.boolean_or("tie_word_embeddings", defaults.tied);
  spec.dtype = read_dtype(config);
  spec.eos_ids = config.integer_or_list("eos_token_id", token_range, 64);
}

int64_t read_layer_count(ConfigReader& config, const DecoderDefaults& defaults) {
  return integer_or_required(config, "num_hidden_layers", defaults.layers, layer_range);
}

int64_t read_draft_layers(ConfigReader& config, std::string_view key) {
  return config.integer_or(key, 0, {0, 64});
}

int64_t read_head_count(ConfigReader& config, std::string_view key) {
  return config.integer(key, head_range);
}

int64_t read_head_dim(ConfigReader& config, std::string_view key) {
  return config.integer(key, head_dim_range);
}

GqaSpec read_heads(ConfigReader& config, const ModelSpec& spec, const DecoderDefaults& defaults) {
  GqaSpec attention;
  attention.heads = integer_or_required(config, "num_attention_heads", defaults.heads, head_range);
  attention.kv_heads = config.integer_or("num_key_value_heads",
                                         defaults.kv_heads.value_or(attention.heads), head_range);
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
  return attention;
}

GqaSpec read_attention(ConfigReader& config, const ModelSpec& spec,
                       const DecoderDefaults& defaults) {
  GqaSpec attention = read_heads(config, spec, defaults);
  attention.rope = read_rope(config, attention.head_dim, spec.context,
                             {.theta = defaults.rope_theta, .partial = defaults.partial_rotary});
  return attention;
}

int64_t read_width(ConfigReader& config, std::string_view key) {
  return config.integer(key, width_range);
}

int64_t read_width_or(ConfigReader& config, std::string_view key,
                      const std::optional<int64_t>& otherwise) {
  return integer_or_required(config, key, otherwise, width_range);
}

ActivationSpec read_activation(ConfigReader& config, std::string_view key,
                               std::string_view otherwise) {
  const size_t choice = config.one_of(
      key, otherwise, {"silu", "swish", "gelu_pytorch_tanh", "gelu_new", "gelu_tanh"});
  return {.kind = choice < 2 ? Activation::silu : Activation::gelu_tanh};
}

DenseFfn read_dense(ConfigReader& config, const DecoderDefaults& defaults) {
  DenseFfn ffn;
  ffn.intermediate = read_width_or(config, "intermediate_size", defaults.intermediate);
  ffn.activation = read_activation(config);
  return ffn;
}

std::vector<std::string> read_layer_texts(ConfigReader& config, std::string_view key,
                                          int64_t layers) {
  auto texts = config.texts_or_empty(key, static_cast<size_t>(layer_range.most));
  if (!texts.empty() && static_cast<int64_t>(texts.size()) != layers) {
    config.fail(key, fmt::format("{} entries for {} layers", texts.size(), layers));
  }
  return texts;
}

std::vector<int64_t> read_layer_integers(ConfigReader& config, std::string_view key, int64_t layers,
                                         IntRange range) {
  auto numbers = config.integers_or_empty(key, range, static_cast<size_t>(layer_range.most));
  if (!numbers.empty() && static_cast<int64_t>(numbers.size()) != layers) {
    config.fail(key, fmt::format("{} entries for {} layers", numbers.size(), layers));
  }
  return numbers;
}

std::vector<std::optional<int64_t>> read_windows(ConfigReader& config, int64_t layers,
                                                 std::optional<int64_t> window, int64_t first) {
  std::vector<std::optional<int64_t>> windows(static_cast<size_t>(layers));
  const auto types = read_layer_texts(config, "layer_types", layers);
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

std::vector<std::optional<int64_t>> read_window_pattern(ConfigReader& config, int64_t layers,
                                                        std::optional<int64_t> window,
                                                        int64_t pattern) {
  if (config.has("layer_types")) return read_windows(config, layers, window, 0);
  std::vector<std::optional<int64_t>> windows(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % pattern != 0) windows[static_cast<size_t>(i)] = window;
  }
  return windows;
}

std::optional<int64_t> read_window(ConfigReader& config) {
  if (!config.has("sliding_window")) return std::nullopt;
  return config.integer("sliding_window", context_range);
}

std::optional<int64_t> read_switched_window(ConfigReader& config) {
  const bool on = config.boolean_or("use_sliding_window", false);
  const bool stated = config.has("sliding_window");
  const int64_t window = config.integer_or("sliding_window", 0, {0, context_range.most});
  if (!on || !stated) return std::nullopt;
  if (window == 0) config.fail("sliding_window", "0 tokens");
  return window;
}

}  // namespace dure
