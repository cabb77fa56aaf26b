// See load_spec.h: finds the config, picks the family, and holds it to its promise to have read
// every key.
#include "model/load_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/closest.h"
#include "base/error.h"
#include "base/file_entry.h"
#include "gguf/gguf_model.h"
#include "model/config_reader.h"
#include "model/families/family.h"
#include "model/gguf/gguf_spec.h"
#include "model/harmless_keys.h"
#include "model/model_folder.h"
#include "model/vision_tower.h"
#include "model/wrappers.h"

namespace dure {
namespace {

// One a line: a family more is a line more.
// clang-format off
constexpr std::array families = {
    &deepseek_ref_family,
    &deepseek_v2_family,
    &deepseek_v3_family,
    &deepseek_v32_family,
    &deepseek_v4_family,
    &ernie4_5_moe_family,
    &gemma_family,
    &gemma2_family,
    &gemma3_family,
    &gemma4_family,
    &glm4_moe_family,
    &glm_moe_dsa_family,
    &gpt_oss_family,
    &granite_family,
    &granitemoe_family,
    &hunyuan_v1_moe_family,
    &kimi_k2_family,
    &kimi_linear_family,
    &llama_family,
    &llama4_family,
    &mimo_family,
    &mimo_v2_flash_family,
    &minimax_m2_family,
    &minimax_m3_family,
    &mistral_family,
    &mixtral_family,
    &nemotron_h_family,
    &nemotron_nas_family,
    &olmoe_family,
    &phi_family,
    &phi3_family,
    &qwen2_family,
    &qwen2_moe_family,
    &qwen3_family,
    &qwen3_5_family,
    &qwen3_5_moe_family,
    &qwen3_moe_family,
    &qwen3_next_family,
    &qwen3_vl_family,
    &qwen3_vl_moe_family,
};
// clang-format on

constexpr size_t most_config_bytes = 2 << 20;

[[noreturn]] void fail_unknown(const ConfigReader& config, const std::string& name) {
  config.fail(
      "model_type", fmt::format("unknown family \"{:.60}\"", name),
      fmt::format("the closest known one is \"{}\"; known are {}",
                  closest(name, known_families()).value_or(""), fmt::join(known_families(), ", ")));
}

const Family& family_of(const ConfigReader& config, const std::string& name) {
  for (const Family* family : families) {
    if (family->name == name) return *family;
  }
  fail_unknown(config, name);
}

void check_architecture(ConfigReader& config) {
  const auto architectures = config.texts_or_empty("architectures", 16);
  if (architectures.empty()) return;
  for (const std::string& name : architectures) {
    if (name.ends_with("ForCausalLM") || name.ends_with("ForConditionalGeneration")) return;
  }
  config.fail("architectures", fmt::format("\"{:.80}\" does not generate text", architectures[0]),
              "Dure runs models named …ForCausalLM or …ForConditionalGeneration");
}

void finish(ConfigReader& config) {
  check_architecture(config);
  config.only_empty("pruned_heads");
  for (std::string_view key : harmless_keys) config.ignore(key);
  for (std::string_view key : generation_keys) config.ignore(key);
  config.finish();
}

void read_quantization(ConfigReader& config, ModelSpec& spec) {
  const std::string expert_type = config.optional_text("expert_dtype");
  std::optional<ConfigReader> quantization = config.object("quantization_config");
  if (!quantization) return;
  spec.quantization = quantization->optional_text("quant_method");
  const std::string older = quantization->optional_text("quant_algo");
  if (spec.quantization.empty()) spec.quantization = older.empty() ? "unnamed" : older;
  spec.scale_block = quantization->integers_or_empty("weight_block_size", {1, 1 << 20}, 2);
  if (spec.scale_block.size() == 1) {
    quantization->fail("weight_block_size", "one size where outputs and inputs were expected");
  }
  spec.release = read_release_formats(*quantization, spec.quantization, expert_type);
}

// Generation settings may name further tokens that end a turn.
void merge_generation_config(const std::filesystem::path& file, ModelSpec& spec) {
  if (!is_there(file)) return;
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
  if (!spec.quantization.empty() || !is_there(file)) return;
  const Json document = read_json_file(file, most_config_bytes);
  ConfigReader config(document, file.string());
  std::optional<ConfigReader> quantization = config.object("quantization");
  spec.quantization = quantization ? quantization->text_or("quant_algo", "modelopt") : "modelopt";
  if (quantization) spec.release = read_release_formats(*quantization, spec.quantization, "");
}

// A config without a quantization block whose file or folder is called after one.
void remark_name(const std::filesystem::path& model, ModelSpec& spec) {
  if (!spec.quantization.empty()) return;
  std::filesystem::path named = model.filename() == "config.json" ? model.parent_path() : model;
  if (!named.has_filename()) named = named.parent_path();
  std::string name = named.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  struct Named {
    std::string_view tag;     // in a name
    std::string_view format;  // for --weights
  };
  constexpr Named known[] = {
      {"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"fp8", "fp8"},  {"w8a8", "int8"}, {"int8", "int8"},
      {"w4a16", "int4"},  {"int4", "int4"},   {"awq", "int4"}, {"gptq", "int4"}, {"fp4", "nvfp4"}};
  for (const Named& each : known) {
    if (name.find(each.tag) == std::string::npos) continue;
    spec.release.remarks.push_back(fmt::format(
        "{:.80} is called after {}, but its config.json states no quantization: counted as {}; "
        "hf_quant_config.json beside it may say more, --weights {} counts it so",
        named.filename().string(), each.tag, to_string(spec.dtype), each.format));
    return;
  }
}

// Every key of `config` is read, known as harmless, or an error.
ModelSpec read_family(ConfigReader& config, const Family& family) {
  ModelSpec spec;
  spec.family = family.name;
  family.read(config, spec);
  read_quantization(config, spec);
  config.ignore("model_type");
  finish(config);
  return spec;
}

}  // namespace

std::vector<std::string> known_families() {
  std::vector<std::string> names;
  names.reserve(families.size() + wrappers().size());
  for (const Family* family : families) names.emplace_back(family->name);
  for (const Wrapper& wrapper : wrappers()) names.emplace_back(wrapper.name);
  std::sort(names.begin(), names.end());
  return names;
}

ModelSpec spec_from_config(const Json& document, const std::string& what, const KeyNames& spelled) {
  ConfigReader config(document, what);
  for (const auto& [key, name] : spelled) config.spelled(key, name);
  const std::string type = config.text("model_type");
  const Wrapper* wrapper = wrapper_of(type);
  if (wrapper == nullptr) return read_family(config, family_of(config, type));

  const Json text = text_config_of(document, what);
  ConfigReader inner(text, what, "text_config");
  const std::string text_type =
      inner.text_or("model_type", std::string(wrapper->text_types.front()));
  const auto& known = wrapper->text_types;
  if (std::find(known.begin(), known.end(), text_type) == known.end()) {
    inner.fail("model_type", fmt::format("\"{:.60}\" is not supported in {}", text_type, type),
               fmt::format("supported: {}", fmt::join(known, ", ")));
  }
  ModelSpec spec = read_family(inner, family_of(inner, text_type));
  spec.family = type;
  spec.vision_parameters = vision_parameters(document);
  apply_wrapper(*wrapper, spec.names);
  check_tower_width(config, spec);
  read_wrapper_keys(config);
  finish(config);
  return spec;
}

ModelSpec load_spec(const std::filesystem::path& model) {
  if (const auto gguf = gguf_of(model)) return spec_from_gguf(open_gguf(*gguf));
  const std::filesystem::path file = config_file_of(model);
  const Json document = read_json_file(file, most_config_bytes, {.allow_infinity = true});
  ModelSpec spec = spec_from_config(document, file.string());
  std::error_code ignored;
  if (std::filesystem::is_directory(model, ignored)) {
    merge_generation_config(model / "generation_config.json", spec);
    merge_modelopt(model / "hf_quant_config.json", spec);
  }
  remark_name(model, spec);
  return spec;
}

}  // namespace dure
