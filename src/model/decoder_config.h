// The parts of a config.json that families share, each read by one function. A family file calls
// those it needs and states its own defaults and quirks.
#pragma once

#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

// What the family assumes where the file is silent.
struct DecoderDefaults {
  double norm_eps = 1e-6;
  double rope_theta = 10000.0;
  std::optional<int64_t> head_dim = std::nullopt;  // otherwise hidden_size / num_attention_heads
};

// hidden_size, vocab_size, max_position_embeddings, rms_norm_eps, tie_word_embeddings, dtype,
// eos_token_id, and hidden_act, which must be silu.
void read_sizes(ConfigReader& config, ModelSpec& spec, const DecoderDefaults& defaults);

int64_t read_layer_count(ConfigReader& config);

// Heads, head_dim, scale and rope; no bias, no norm, no window.
GqaSpec read_attention(ConfigReader& config, const ModelSpec& spec,
                       const DecoderDefaults& defaults);

int64_t read_width(ConfigReader& config, std::string_view key);  // of a feed-forward part
MoeFfn read_moe(ConfigReader& config, std::string_view experts_key, std::string_view width_key,
                int64_t layers);

// Which layers see only a window: as `layer_types` says; where it is absent, those from `first` on.
std::vector<std::optional<int64_t>> read_windows(ConfigReader& config, int64_t layers,
                                                 std::optional<int64_t> window, int64_t first);

// sliding_window where use_sliding_window is true.
std::optional<int64_t> read_switched_window(ConfigReader& config);

// The Qwen mixtures: which layers are dense (mlp_only_layers, decoder_sparse_step).
std::vector<bool> read_sparse_layers(ConfigReader& config, int64_t layers);

}  // namespace dure
