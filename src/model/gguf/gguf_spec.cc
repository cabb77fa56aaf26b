// See gguf_spec.h.
#include "model/gguf/gguf_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/closest.h"
#include "base/error.h"
#include "base/read_exactly.h"
#include "gguf/vocabulary.h"
#include "model/gguf/gguf_families.h"
#include "model/load_spec.h"

namespace dure {
namespace {

constexpr auto architecture_key = "general.architecture";
constexpr auto frequencies_name = "rope_freqs.weight";

const GgufFamily& family_of(const GgufMetadata& metadata) {
  const std::string kind = metadata.optional_text("general.type").value_or("model");
  if (kind != "model") {
    metadata.fail("general.type", fmt::format("\"{:.40}\" is not a model that runs alone", kind),
                  "give the file of the language model");
  }
  const std::string name = metadata.text(architecture_key);
  if (const GgufFamily* family = find_gguf_family(name)) return *family;
  metadata.fail(architecture_key, fmt::format("unknown family \"{:.60}\"", name),
                fmt::format("the closest known one is \"{}\"; known are {}",
                            closest(name, known_gguf_architectures()).value_or(""),
                            fmt::join(known_gguf_architectures(), ", ")));
}

// That of the unquantized matrices, if there are any.
DType plain_type(const GgufModel& model) {
  std::map<DType, int64_t> bytes;
  for (const GgufModel::Tensor& tensor : model.tensors) {
    const auto* dtype = std::get_if<DType>(&tensor.stored.type);
    const bool router = tensor.stored.name.find(".ffn_gate_inp.") != std::string::npos;
    if (dtype != nullptr && tensor.stored.shape.size() > 1 && !router) {
      bytes[*dtype] += tensor.stored.bytes;
    }
  }
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? DType::bf16 : most->first;
}

std::string config_name(DType dtype) {
  return dtype == DType::f32 ? "float32" : dtype == DType::f16 ? "float16" : "bfloat16";
}

// Which tensors are quantized, and how, in the words of releases: a rule for each block format.
ReleaseFormats formats_of(const GgufModel& model) {
  ReleaseFormats formats;
  std::map<BlockFormat, FormatRule> rules;
  for (const GgufModel::Tensor& tensor : model.tensors) {
    const auto* blocks = std::get_if<BlockFormat>(&tensor.stored.type);
    if (blocks == nullptr) continue;
    FormatRule& rule = rules[*blocks];
    const BlockSize size = size_of(*blocks);
    rule.format = WeightFormat{to_string(*blocks), 8.0 * static_cast<double>(size.bytes) /
                                                       static_cast<double>(size.values)};
    rule.names.add(tensor.stored.name);
  }
  for (auto& [format, rule] : rules) formats.rules.push_back(std::move(rule));
  return formats;
}

std::vector<double> read_frequencies(const GgufModel& model, const GgufModel::Tensor& tensor) {
  const GgufPart& part = model.parts[static_cast<size_t>(tensor.part)];
  const auto refuse = [&](const std::string& problem) {
    throw_bad_input(fmt::format("{}: {}: {}", part.path.string(), frequencies_name, problem),
                    "the file is damaged or was written by a broken tool: download it again",
                    frequencies_name);
  };
  constexpr int64_t most_bytes = 1 << 20;
  const bool plain = tensor.stored.type == std::variant<DType, BlockFormat>(DType::f32);
  if (!plain || tensor.stored.shape.size() != 1 || tensor.stored.bytes > most_bytes) {
    refuse("is not a list of fp32 numbers");
  }
  std::vector<float> values(static_cast<size_t>(tensor.stored.shape[0]));
  read_exactly(part.descriptor.get(), tensor.stored.offset, tensor.stored.bytes, values.data(),
               part.path.string());
  for (float value : values) {
    if (!(value >= 1e-6f && value <= 1e6f)) refuse(fmt::format("{} divides a frequency", value));
  }
  return {values.begin(), values.end()};
}

// Numbers that divide the frequencies of all layers, stored in place of the settings that they were
// computed from.
void divide_frequencies(const GgufModel& model, ModelSpec& spec) {
  const GgufModel::Tensor* tensor = model.find(frequencies_name);
  if (tensor == nullptr) return;
  const std::vector<double> divisors = read_frequencies(model, *tensor);
  for (LayerSpec& layer : spec.layers) {
    auto* attention = std::get_if<GqaSpec>(&layer.attention);
    const bool fits = attention != nullptr && attention->rope.kind == RopeKind::plain &&
                      static_cast<int64_t>(divisors.size()) == attention->rope.dims / 2;
    if (!fits) {
      model.metadata.fail(
          frequencies_name,
          fmt::format("{} numbers do not fit the rotary settings beside them", divisors.size()));
    }
    attention->rope.kind = RopeKind::divided;
    attention->rope.divisors = divisors;
  }
}

}  // namespace

ModelSpec spec_from_gguf(const GgufModel& model) {
  const GgufMetadata& metadata = model.metadata;
  const GgufFamily& family = family_of(metadata);
  const GgufVocabulary vocabulary = read_gguf_vocabulary(metadata);

  Json document = Json::object();
  KeyNames spelled;
  GgufTranslator file(model, std::string(family.architecture), document, spelled);
  family.translate(file);
  file.finish();
  file.set("dtype", config_name(plain_type(model)));

  ModelSpec spec = spec_from_config(document, metadata.what(), spelled);
  spec.eos_ids.assign(vocabulary.ends.begin(), vocabulary.ends.end());
  spec.names.gguf = GgufNames{.split_kv_b = !model.has("blk.0.attn_kv_b.weight"),
                              .ffn_norm_after_attention = family.architecture == "gpt-oss"};
  spec.release = formats_of(model);
  family.adjust(model, spec);
  divide_frequencies(model, spec);
  return spec;
}

}  // namespace dure
