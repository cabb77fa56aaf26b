// The parts of a config.json that families share, each read by one function. A family file calls
// those it needs and states its own defaults and quirks.
#pragma once

#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/rope_config.h"
#include "model/spec.h"

namespace dure {

// What the family assumes where the file is silent. Sizes without a default must be stated.
struct DecoderDefaults {
  double norm_eps = 1e-6;
  std::optional<double> rope_theta = 10000.0;  // without one it must be stated
  // Of families that turn only a part of each head: how much of it.
  std::optional<double> partial_rotary = std::nullopt;
  std::optional<int64_t> head_dim = std::nullopt;  // otherwise hidden_size / num_attention_heads
  std::optional<int64_t> hidden = std::nullopt;
  std::optional<int64_t> vocab = std::nullopt;
  std::optional<int64_t> context = std::nullopt;
  std::optional<int64_t> layers = std::nullopt;
  std::optional<int64_t> heads = std::nullopt;
  std::optional<int64_t> kv_heads = std::nullopt;  // otherwise, as for null, num_attention_heads
  std::optional<int64_t> intermediate = std::nullopt;
  bool tied = false;
};

// hidden_size, vocab_size, max_position_embeddings, rms_norm_eps, tie_word_embeddings, dtype,
// eos_token_id.
void read_sizes(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults);

int64_t read_layer_count(ConfigReader& config, const DecoderDefaults& defaults = {});

// Heads, head_dim and scale; no rope, no bias, no norm, no window.
GqaSpec read_heads(ConfigReader& config, const ModelSpec& spec, const DecoderDefaults& defaults);
// The same with rope.
GqaSpec read_attention(ConfigReader& config, const ModelSpec& spec,
                       const DecoderDefaults& defaults);

// rotary_dim, or partial_rotary_factor, or both: how much of a head turns. One must be stated,
// since without it implementations turn half of a head or all of it.
void read_rotary_dim(ConfigReader& config, GqaSpec& attention);

// num_nextn_predict_layers, or as the family calls it.
int64_t read_draft_layers(ConfigReader& config, std::string_view key = "num_nextn_predict_layers");

int64_t read_head_count(ConfigReader& config, std::string_view key);
int64_t read_head_dim(ConfigReader& config, std::string_view key);
int64_t read_width(ConfigReader& config, std::string_view key);  // of a feed-forward part
int64_t read_width_or(ConfigReader& config, std::string_view key,
                      const std::optional<int64_t>& otherwise);

// silu, or GELU's tanh approximation under any of its names.
ActivationSpec read_activation(ConfigReader& config, std::string_view key = "hidden_act",
                               std::string_view otherwise = "silu");

// intermediate_size and hidden_act.
DenseFfn read_dense(ConfigReader& config, const DecoderDefaults& defaults = {});

// A list with an entry for each layer, or empty.
std::vector<std::string> read_layer_texts(ConfigReader& config, std::string_view key,
                                          int64_t layers);
std::vector<int64_t> read_layer_integers(ConfigReader& config, std::string_view key, int64_t layers,
                                         IntRange range);

// Which layers see only a window: as `layer_types` says; where it is absent, those from `first` on.
std::vector<std::optional<int64_t>> read_windows(ConfigReader& config, int64_t layers,
                                                 std::optional<int64_t> window, int64_t first);

// The windows of Qwen2 and Qwen3: use_sliding_window, sliding_window, and which layers see it, by
// max_window_layers or layer_types.
std::vector<std::optional<int64_t>> read_upper_windows(ConfigReader& config, int64_t layers);

// As `layer_types` says; where it is absent, all but each `pattern`-th.
std::vector<std::optional<int64_t>> read_window_pattern(ConfigReader& config, int64_t layers,
                                                        std::optional<int64_t> window,
                                                        int64_t pattern);

// sliding_window, if stated.
std::optional<int64_t> read_window(ConfigReader& config);
// sliding_window, of 4096 tokens where it is absent, if use_sliding_window is true.
std::optional<int64_t> read_switched_window(ConfigReader& config);

}  // namespace dure
