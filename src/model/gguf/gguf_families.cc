// See gguf_families.h. Settings: https://github.com/ggml-org/ggml, docs/gguf.md, and what the
// converters of https://github.com/ggml-org/llama.cpp write.
#include "model/gguf/gguf_families.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/gguf/gguf_rope.h"

namespace dure {
namespace {

// What all decoders have.
void translate_sizes(GgufTranslator& file) {
  file.size("num_hidden_layers", "block_count");
  file.size("hidden_size", "embedding_length");
  file.size("max_position_embeddings", "context_length");
  file.size("num_attention_heads", "attention.head_count");
  file.optional_number("rms_norm_eps", "attention.layer_norm_rms_epsilon");
  const int64_t vocabulary = file.rows_of("token_embd.weight");
  file.set("vocab_size", vocabulary);
  file.only_integer("vocab_size", {vocabulary});
  file.set("tie_word_embeddings", !file.model().has("output.weight"));
  // Of how tensors were laid out before conversion, and of training.
  file.ignore({"tensor_data_layout", "use_parallel_residual"});
  file.only_boolean("attention.causal", true);
  file.only_integer("nextn_predict_layers", {0});
}

// Heads of grouped-query attention; returns their size.
int64_t translate_heads(GgufTranslator& file) {
  const int64_t heads = file.required_integer("attention.head_count");
  file.set_as("num_key_value_heads", "attention.head_count_kv",
              file.integer("attention.head_count_kv").value_or(heads));
  const int64_t hidden = file.required_integer("embedding_length");
  const int64_t size =
      file.integer("attention.key_length").value_or(heads > 0 ? hidden / heads : 0);
  file.set_as("head_dim", "attention.key_length", size);
  file.only_integer("attention.value_length", {size});
  return size;
}

void translate_dense(GgufTranslator& file) {
  file.size("intermediate_size", "feed_forward_length");
  file.only_integer("expert_count", {0});
  file.only_integer("expert_used_count", {0});
}

// Width of an expert, which older files do not state.
void translate_expert_width(GgufTranslator& file, std::string_view config_key) {
  constexpr std::string_view suffix = "expert_feed_forward_length";
  if (const auto width = file.integer(suffix)) return file.set_as(config_key, suffix, *width);
  for (const GgufModel::Tensor& tensor : file.model().tensors) {
    if (!tensor.stored.name.ends_with(".ffn_up_exps.weight")) continue;
    if (tensor.stored.shape.size() == 3) {
      return file.set_as(config_key, suffix, tensor.stored.shape[1]);
    }
  }
  file.fail(suffix, "missing");
}

void translate_llama(GgufTranslator& file) {
  translate_sizes(file);
  translate_rope(file, translate_heads(file), {});
  if (file.integer("expert_count").value_or(0) == 0) {
    file.set("model_type", "llama");
    translate_dense(file);
    file.set("attention_bias", file.model().has("blk.0.attn_q.bias"));
    file.set("mlp_bias", file.model().has("blk.0.ffn_gate.bias"));
    return;
  }
  file.set("model_type", "mixtral");
  file.size("num_local_experts", "expert_count");
  file.size("num_experts_per_tok", "expert_used_count");
  file.size("intermediate_size", "feed_forward_length");
  file.only_boolean("expert_weights_norm", true);
  file.only_number("expert_weights_scale", {0.0, 1.0});
}

// Rows of q and k are stored in the order in which neighbours turn together; and frequencies may be
// divided by stored numbers, in place of Llama 3's settings.
void adjust_llama(const GgufModel& model, ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    auto& attention = std::get<GqaSpec>(layer.attention);
    attention.rope.interleaved = true;
    if (attention.qkv_bias) attention.o_bias = model.has("blk.0.attn_output.bias");
  }
}

void translate_qwen2(GgufTranslator& file) {
  translate_sizes(file);
  file.set("model_type", "qwen2");
  translate_rope(file, translate_heads(file), {});
  translate_dense(file);
}

void translate_qwen3(GgufTranslator& file) {
  translate_sizes(file);
  file.set("model_type", "qwen3");
  translate_rope(file, translate_heads(file), {});
  translate_dense(file);
}

void translate_qwen3moe(GgufTranslator& file) {
  translate_sizes(file);
  file.set("model_type", "qwen3_moe");
  translate_rope(file, translate_heads(file), {});
  file.size("num_experts", "expert_count");
  file.size("num_experts_per_tok", "expert_used_count");
  translate_expert_width(file, "moe_intermediate_size");
  file.ignore({"feed_forward_length"});  // of dense layers, of which there are none
  file.set("norm_topk_prob", true);
  file.only_boolean("expert_weights_norm", true);
  file.only_number("expert_weights_scale", {0.0, 1.0});
  file.only_integer("expert_gating_func", {0, 1});
  file.only_integer("expert_shared_count", {0});
}

// Which layers see only a window: all but each n-th, or a list.
void translate_window_pattern(GgufTranslator& file) {
  constexpr std::string_view suffix = "attention.sliding_window_pattern";
  const auto& values = file.metadata().values();
  const auto found = values.find(file.key(suffix));
  if (found == values.end()) return;
  const auto* listed = std::get_if<std::vector<bool>>(&found->second);
  if (listed == nullptr) return file.optional_size("sliding_window_pattern", suffix);
  Json types = Json::array();
  for (const bool windowed : *listed) {
    types.push_back(windowed ? "sliding_attention" : "full_attention");
  }
  file.set_as("layer_types", suffix, types);
}

void translate_gemma3(GgufTranslator& file) {
  translate_sizes(file);
  file.set("model_type", "gemma3_text");
  const int64_t head_dim = translate_heads(file);
  translate_rope(file, head_dim, {});
  file.optional_number("rope_local_base_freq", "rope.freq_base_swa");
  translate_dense(file);
  file.size("sliding_window", "attention.sliding_window");
  translate_window_pattern(file);
  file.optional_number("attn_logit_softcapping", "attn_logit_softcapping");
  file.optional_number("final_logit_softcapping", "final_logit_softcapping");
  // Scores are divided by the root of the head size, but in the release of 27 billion parameters,
  // which is told by its layers: the file does not say.
  constexpr int64_t layers_of_27b = 62;
  const int64_t hidden = file.required_integer("embedding_length");
  const int64_t heads = file.required_integer("attention.head_count");
  const bool largest = file.required_integer("block_count") == layers_of_27b && heads > 0;
  file.set("query_pre_attn_scalar", largest ? hidden / heads : head_dim);
}

// The file holds norms with the one already added.
void adjust_gemma3(const GgufModel& model, ModelSpec& spec) {
  static_cast<void>(model);
  spec.norms_plus_one = false;
}

void translate_gpt_oss(GgufTranslator& file) {
  translate_sizes(file);
  file.set("model_type", "gpt_oss");
  translate_rope(file, translate_heads(file), {.truncate = false});
  file.size("num_local_experts", "expert_count");
  file.size("num_experts_per_tok", "expert_used_count");
  translate_expert_width(file, "intermediate_size");
  file.ignore({"feed_forward_length"});
  file.size("sliding_window", "attention.sliding_window");
  file.only_integer("expert_gating_func", {0, 3});  // a softmax over the chosen
}

// Sizes of latent attention. Newer files, which hold k's and v's second matrix apart, state lengths
// of a head under names of their own, since the cached vector is the key there.
void translate_latent(GgufTranslator& file) {
  const int64_t rope_dim = file.required_integer("rope.dimension_count");
  const bool newer = file.has("attention.key_length_mla");
  const std::string_view key = newer ? "attention.key_length_mla" : "attention.key_length";
  const std::string_view value = newer ? "attention.value_length_mla" : "attention.value_length";
  const int64_t head = file.required_integer(key);
  if (head <= rope_dim) {
    file.fail(key, fmt::format("{}, of which rope.dimension_count = {} turn", head, rope_dim));
  }
  file.set_as("qk_nope_head_dim", key, head - rope_dim);
  file.size("qk_rope_head_dim", "rope.dimension_count");
  file.size("v_head_dim", value);
  file.size("kv_lora_rank", "attention.kv_lora_rank");
  const int64_t q_rank = file.integer("attention.q_lora_rank").value_or(0);
  file.set_as("q_lora_rank", "attention.q_lora_rank", q_rank == 0 ? Json() : Json(q_rank));
  file.ignore({"attention.key_length", "attention.value_length", "attention.head_count_kv"});
  translate_rope(file, rope_dim, {.latent = true});
}

void translate_routing(GgufTranslator& file) {
  constexpr int64_t sigmoid = 2;
  file.size("n_routed_experts", "expert_count");
  file.size("num_experts_per_tok", "expert_used_count");
  file.set_as("n_shared_experts", "expert_shared_count",
              file.integer("expert_shared_count").value_or(0));
  translate_expert_width(file, "moe_intermediate_size");
  file.set_as("first_k_dense_replace", "leading_dense_block_count",
              file.integer("leading_dense_block_count").value_or(0));
  const int64_t score = file.integer("expert_gating_func").value_or(0);
  file.only_integer("expert_gating_func", {0, 1, sigmoid});
  const bool normalize = file.boolean("expert_weights_norm").value_or(false);
  const double scale = file.number("expert_weights_scale").value_or(1.0);
  const int64_t groups = file.integer("expert_group_count").value_or(1);
  bool corrected = false;
  for (const GgufModel::Tensor& tensor : file.model().tensors) {
    corrected = corrected || tensor.stored.name.ends_with(".exp_probs_b.bias");
  }
  const bool v3 = corrected || normalize || score == sigmoid;
  file.set("model_type", v3 ? "deepseek_v3" : "deepseek_v2");
  file.set("scoring_func", score == sigmoid ? "sigmoid" : "softmax");
  file.set("topk_method", corrected ? "noaux_tc" : groups > 1 ? "group_limited_greedy" : "greedy");
  file.set_as("norm_topk_prob", "expert_weights_norm", normalize);
  file.set_as("routed_scaling_factor", "expert_weights_scale", scale == 0.0 ? 1.0 : scale);
  file.set_as("n_group", "expert_group_count", std::max<int64_t>(groups, 1));
  file.set_as("topk_group", "expert_group_used_count",
              std::max<int64_t>(file.integer("expert_group_used_count").value_or(1), 1));
}

void translate_deepseek2(GgufTranslator& file) {
  translate_sizes(file);
  translate_latent(file);
  translate_routing(file);
  file.size("intermediate_size", "feed_forward_length");
}

void leave(const GgufModel& model, ModelSpec& spec) {
  static_cast<void>(model);
  static_cast<void>(spec);
}

constexpr std::array families = {
    GgufFamily{"deepseek2", translate_deepseek2, leave},
    GgufFamily{"gemma3", translate_gemma3, adjust_gemma3},
    GgufFamily{"gpt-oss", translate_gpt_oss, leave},
    GgufFamily{"llama", translate_llama, adjust_llama},
    GgufFamily{"qwen2", translate_qwen2, leave},
    GgufFamily{"qwen3", translate_qwen3, leave},
    GgufFamily{"qwen3moe", translate_qwen3moe, leave},
};

}  // namespace

const GgufFamily* find_gguf_family(std::string_view architecture) {
  for (const GgufFamily& family : families) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

std::vector<std::string> known_gguf_architectures() {
  std::vector<std::string> names;
  names.reserve(std::size(families));
  for (const GgufFamily& family : families) names.emplace_back(family.architecture);
  return names;
}

}  // namespace dure
