// See load_spec.h: finds the config, picks the family, and holds it to its promise to have read
// every key.
#include "model/load_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/closest.h"
#include "base/error.h"
#include "model/config_reader.h"
#include "model/families/family.h"
#include "model/model_folder.h"

namespace dure {
namespace {

constexpr std::array families = {&llama_family, &mistral_family,  &mixtral_family,
                                 &olmoe_family, &qwen2_family,    &qwen2_moe_family,
                                 &qwen3_family, &qwen3_moe_family};

constexpr size_t most_config_bytes = 2 << 20;

// Keys that tools write into every config and that change nothing at inference.
constexpr std::string_view harmless_keys[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "attention_dropout",
    "auto_map",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "embd_pdrop",
    "gradient_checkpointing",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "problem_type",
    "resid_pdrop",
    "return_dict",
    "router_aux_loss_coef",
    "sep_token_id",
    "task_specific_params",
    "tokenizer_class",
    "transformers_version",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
};

const Family& family_of(ConfigReader& config) {
  const std::string name = config.text("model_type");
  for (const Family* family : families) {
    if (family->name == name) return *family;
  }
  config.fail(
      "model_type", fmt::format("unknown family \"{:.60}\"", name),
      fmt::format("the closest known one is \"{}\"; known are {}",
                  closest(name, known_families()).value_or(""), fmt::join(known_families(), ", ")));
}

void read_quantization(ConfigReader& config, ModelSpec& spec) {
  std::optional<ConfigReader> quantization = config.object("quantization_config");
  if (!quantization) return;
  const std::string older = quantization->text_or("quant_algo", "unnamed");
  spec.quantization = quantization->text_or("quant_method", older);
}

// Generation settings may name further tokens that end a turn.
void merge_generation_config(const std::filesystem::path& file, ModelSpec& spec) {
  if (!std::filesystem::exists(file)) return;
  const Json document = read_json_file(file, most_config_bytes);
  ConfigReader config(document, file.string());
  for (int64_t id : config.integer_or_list("eos_token_id", {0, INT32_MAX}, 64)) {
    if (std::find(spec.eos_ids.begin(), spec.eos_ids.end(), id) == spec.eos_ids.end()) {
      spec.eos_ids.push_back(id);
    }
  }
}

// A quantization tool of NVIDIA's states what it did only in a file of its own.
void merge_modelopt(const std::filesystem::path& file, ModelSpec& spec) {
  if (!spec.quantization.empty() || !std::filesystem::exists(file)) return;
  const Json document = read_json_file(file, most_config_bytes);
  ConfigReader config(document, file.string());
  std::optional<ConfigReader> quantization = config.object("quantization");
  spec.quantization = quantization ? quantization->text_or("quant_algo", "modelopt") : "modelopt";
}

}  // namespace

std::vector<std::string> known_families() {
  std::vector<std::string> names;
  names.reserve(std::size(families));
  for (const Family* family : families) names.emplace_back(family->name);
  return names;
}

ModelSpec spec_from_config(const Json& document, const std::string& what) {
  ConfigReader config(document, what);
  const Family& family = family_of(config);
  ModelSpec spec;
  spec.family = family.name;
  family.read(config, spec);
  read_quantization(config, spec);
  for (std::string_view key : harmless_keys) config.ignore(key);
  config.finish();
  return spec;
}

ModelSpec load_spec(const std::filesystem::path& model) {
  const std::filesystem::path file = config_file_of(model);
  ModelSpec spec = spec_from_config(read_json_file(file, most_config_bytes), file.string());
  if (std::filesystem::is_directory(model)) {
    merge_generation_config(model / "generation_config.json", spec);
    merge_modelopt(model / "hf_quant_config.json", spec);
  }
  return spec;
}

}  // namespace dure
