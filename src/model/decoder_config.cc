// See decoder_config.h. The bounds keep every product of sizes within 62 bits, and what a config
// alone can make Dure allocate within some tens of megabytes.
#include "model/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr int64_t default_switched_window = 4096;

int64_t integer_or_required(ConfigReader& config, std::string_view key,
                            const std::optional<int64_t>& otherwise, IntRange range) {
  return otherwise ? config.integer_or(key, *otherwise, range) : config.integer(key, range);
}

std::optional<DType> read_dtype_at(ConfigReader& config, const char* key) {
  std::string name = config.optional_text(key);
  if (name.empty()) return std::nullopt;
  if (name.starts_with("torch.")) name = name.substr(6);
  const std::optional<DType> dtype = dtype_from_config(name);
  if (!dtype) {
    config.fail(key, fmt::format("\"{:.60}\" is not supported", name),
                "supported: bfloat16, float16, float32");
  }
  return dtype;
}

// Both spellings may stand side by side and differ: whoever saves a file anew in another type
// writes the newer spelling and may leave the older one as it was. The newer wins, as it does
// elsewhere.
DType read_dtype(ConfigReader& config) {
  const std::optional<DType> newer = read_dtype_at(config, "dtype");
  const std::optional<DType> older = read_dtype_at(config, "torch_dtype");
  return newer ? *newer : older.value_or(DType::bf16);
}

void check_listed_layer_by_layer(const ConfigReader& config, std::string_view key, size_t entries,
                                 int64_t layers) {
  if (!config.has(key)) return;
  if (static_cast<int64_t>(entries) != layers) {
    config.fail(key, fmt::format("{} entries for {} layers", entries, layers));
  }
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
  return config.optional_integer(key, {0, 64}).value_or(0);
}

int64_t read_head_count(ConfigReader& config, std::string_view key) {
  return config.integer(key, head_range);
}

int64_t read_head_dim(ConfigReader& config, std::string_view key) {
  return config.integer(key, head_dim_range);
}

// null is as many as heads, whatever the family assumes where the file is silent.
int64_t read_kv_heads(ConfigReader& config, int64_t heads, const DecoderDefaults& defaults) {
  const bool silent = !config.mentions("num_key_value_heads");
  const int64_t otherwise = silent ? defaults.kv_heads.value_or(heads) : heads;
  return config.optional_integer("num_key_value_heads", head_range).value_or(otherwise);
}

GqaSpec read_heads(ConfigReader& config, const ModelSpec& spec, const DecoderDefaults& defaults) {
  GqaSpec attention;
  attention.heads = integer_or_required(config, "num_attention_heads", defaults.heads, head_range);
  attention.kv_heads = read_kv_heads(config, attention.heads, defaults);
  if (attention.heads % attention.kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("{} does not divide num_attention_heads = {}",
                                                   attention.kv_heads, attention.heads));
  }
  if (!config.has("head_dim") && !defaults.head_dim && spec.hidden % attention.heads != 0) {
    config.fail("num_attention_heads",
                fmt::format("{} does not divide hidden_size = {}, and head_dim is not stated",
                            attention.heads, spec.hidden));
  }
  if (defaults.head_dim) {
    attention.head_dim = config.integer_or("head_dim", *defaults.head_dim, head_dim_range);
  } else {
    attention.head_dim =
        config.optional_integer("head_dim", head_dim_range).value_or(spec.hidden / attention.heads);
  }
  if (attention.head_dim % 2 != 0 || attention.head_dim < 2) {
    config.fail("head_dim", fmt::format("{} is odd: rotary embedding turns pairs of dimensions",
                                        attention.head_dim));
  }
  attention.v_head_dim = attention.head_dim;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.head_dim));
  return attention;
}

void read_rotary_dim(ConfigReader& config, GqaSpec& attention) {
  bool partial = config.has("partial_rotary_factor");
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto rope = config.object(key);
    partial = partial || (rope && rope->has("partial_rotary_factor"));
  }
  if (!partial) config.require("rotary_dim");
  const int64_t dims =
      config.optional_integer("rotary_dim", {2, attention.head_dim}).value_or(attention.rope.dims);
  if (partial && dims != attention.rope.dims) {
    config.fail("rotary_dim", fmt::format("{} contradicts partial_rotary_factor, which makes it {}",
                                          dims, attention.rope.dims));
  }
  if (dims % 2 != 0) config.fail("rotary_dim", fmt::format("{} is odd", dims));
  attention.rope.dims = dims;
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
  check_listed_layer_by_layer(config, key, texts.size(), layers);
  return texts;
}

std::vector<int64_t> read_layer_integers(ConfigReader& config, std::string_view key, int64_t layers,
                                         IntRange range) {
  auto numbers = config.integers_or_empty(key, range, static_cast<size_t>(layer_range.most));
  check_listed_layer_by_layer(config, key, numbers.size(), layers);
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

std::vector<std::optional<int64_t>> read_upper_windows(ConfigReader& config, int64_t layers) {
  const int64_t first = config.integer_or("max_window_layers", 28, {0, 1 << 20});
  const auto windows = read_windows(config, layers, read_switched_window(config), first);
  if (!config.has("layer_types") || !config.has("max_window_layers")) return windows;
  const bool any = std::any_of(windows.begin(), windows.end(), [](const auto& w) { return w; });
  for (int64_t i = 0; any && i < layers; ++i) {
    if (windows[static_cast<size_t>(i)].has_value() != (i >= first)) {
      config.fail("max_window_layers",
                  fmt::format("{} contradicts layer_types at layer {}", first, i));
    }
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
  auto window = config.optional_integer("sliding_window", {0, context_range.most});
  if (!on) return std::nullopt;
  if (window == 0) config.fail("sliding_window", "0 tokens");
  if (!config.mentions("sliding_window")) window = default_switched_window;
  return window;
}

}  // namespace dure
