// See wrappers.h.
#include "model/wrappers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dure {
namespace {

const std::vector<Wrapper>& table() {
  static const std::vector<Wrapper> all = {
      {.name = "gemma3",
       .text_types = {"gemma3_text"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_tower.", "multi_modal_projector."}},
      {.name = "gemma4",
       .text_types = {"gemma4_text"},
       .body = "model.language_model.",
       .head = "lm_head.weight",
       .other_parts = {"model.vision_tower.", "model.embed_vision.", "model.audio_tower.",
                       "model.embed_audio."}},
      {.name = "kimi_k25",
       .text_types = {"kimi_k2", "deepseek_v3"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_tower.", "mm_projector."}},
      {.name = "kimi_k3",
       .text_types = {"kimi_linear"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_tower.", "mm_projector."}},
      {.name = "llama4",
       .text_types = {"llama4_text"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_model.", "multi_modal_projector."}},
      {.name = "llava_next",
       .text_types = {"llama", "granite", "mistral"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_tower.", "multi_modal_projector.", "image_newline"}},
      {.name = "mistral3",
       .text_types = {"mistral"},
       .body = "language_model.model.",
       .head = "language_model.lm_head.weight",
       .other_parts = {"vision_tower.", "multi_modal_projector."}},
      {.name = "qwen3_5",
       .text_types = {"qwen3_5_text"},
       .body = "model.language_model.",
       .head = "lm_head.weight",
       .other_parts = {"model.visual."}},
      {.name = "qwen3_5_moe",
       .text_types = {"qwen3_5_moe_text"},
       .body = "model.language_model.",
       .head = "lm_head.weight",
       .other_parts = {"model.visual."},
       .experts = ExpertStorage::stacked_out_in},
      {.name = "qwen3_vl",
       .text_types = {"qwen3_vl_text"},
       .body = "model.language_model.",
       .head = "lm_head.weight",
       .other_parts = {"model.visual."}},
      {.name = "qwen3_vl_moe",
       .text_types = {"qwen3_vl_moe_text"},
       .body = "model.language_model.",
       .head = "lm_head.weight",
       .other_parts = {"model.visual."}},
  };
  return all;
}

bool states(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

[[noreturn]] void fail_contradicted(const ConfigReader& outer, const char* key) {
  outer.fail(key, "text_config states otherwise", "keep one of the two");
}

// Of the two spellings that each object may have, the newer wins.
void merge_dtypes(const Json& document, const ConfigReader& outer, Json& text) {
  const auto plain = [](const Json& dtype) {
    if (!dtype.is_string()) return dtype;
    const auto name = dtype.get<std::string>();
    return name.starts_with("torch.") ? Json(name.substr(6)) : dtype;
  };
  const auto key_of = [](const Json& object) {
    return states(object, "dtype") ? "dtype" : "torch_dtype";
  };
  const char* outside = key_of(document);
  if (!states(document, outside)) return;
  if (!states(text, key_of(text))) {
    text[outside] = document[outside];
  } else if (plain(document[outside]) != plain(text[key_of(text)])) {
    fail_contradicted(outer, outside);
  }
}

// Releases (Gemma 4) name outside, beside the text's own, the tokens that end a turn: they all do.
void merge_end_tokens(const Json& document, const ConfigReader& outer, Json& text) {
  constexpr const char* key = "eos_token_id";
  if (!states(document, key)) return;
  const auto listed = [](const Json& ids) { return ids.is_array() ? ids : Json::array({ids}); };
  const Json all = listed(document[key]);
  for (const Json& id : states(text, key) ? listed(text[key]) : Json::array()) {
    if (std::find(all.begin(), all.end(), id) == all.end()) fail_contradicted(outer, key);
  }
  text[key] = document[key];
}

}  // namespace

std::span<const Wrapper> wrappers() {
  return table();
}

const Wrapper* wrapper_of(std::string_view model_type) {
  const auto named = [&](const Wrapper& wrapper) { return wrapper.name == model_type; };
  const auto found = std::find_if(table().begin(), table().end(), named);
  return found == table().end() ? nullptr : &*found;
}

Json text_config_of(const Json& document, const std::string& what) {
  ConfigReader outer(document, what);
  if (!outer.object("text_config")) outer.fail("text_config", "missing");
  Json text = document["text_config"];
  for (const char* key : {"tie_word_embeddings", "quantization_config"}) {
    if (!states(document, key)) continue;
    if (!states(text, key)) text[key] = document[key];
    if (text[key] != document[key]) fail_contradicted(outer, key);
  }
  merge_dtypes(document, outer, text);
  merge_end_tokens(document, outer, text);
  return text;
}

void check_tower_width(ConfigReader& config, const ModelSpec& text) {
  std::optional<ConfigReader> tower = config.object("vision_config");
  if (!tower) return;
  for (const char* key : {"out_hidden_size", "text_hidden_size"})
    tower->only_integer(key, text.hidden);
}

void read_wrapper_keys(ConfigReader& config) {
  // Read with text_config.
  config.ignore({"text_config", "tie_word_embeddings", "eos_token_id", "dtype", "torch_dtype",
                 "quantization_config"});
  // Parts that are not run, and how their tokens stand in a text.
  config.ignore({"vision_config",
                 "audio_config",
                 "image_token_id",
                 "image_token_index",
                 "video_token_id",
                 "audio_token_id",
                 "vision_start_token_id",
                 "vision_end_token_id",
                 "boi_token_id",
                 "boi_token_index",
                 "eoi_token_id",
                 "eoi_token_index",
                 "boa_token_id",
                 "eoa_token_id",
                 "eoa_token_index",
                 "media_placeholder_token_id",
                 "image_placeholder",
                 "video_placeholder",
                 "use_unified_vision_chunk",
                 "mm_tokens_per_image",
                 "vision_soft_tokens_per_image",
                 "vision_feature_layer",
                 "vision_feature_select_strategy",
                 "image_grid_pinpoints",
                 "image_seq_length",
                 "multimodal_projector_bias",
                 "projector_hidden_act",
                 "spatial_merge_size",
                 "use_image_newline_parameter"});
  config.ignore("ignore_index");  // of a training loss
}

void apply_wrapper(const Wrapper& wrapper, WeightNames& names) {
  names.body = wrapper.body;
  names.head = wrapper.head;
  if (wrapper.experts) names.experts = *wrapper.experts;
  for (const std::string_view part : wrapper.other_parts) names.other_parts.emplace_back(part);
}

}  // namespace dure
