// See find_codes.h.
#include "model/quantized/find_codes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/json.h"
#include "model/quantized/scaled_codes.h"

namespace dure {
namespace {

using Codes = ScaledCodes::Codes;
using Shape = std::vector<int64_t>;

// Of activations, which are not quantized here, and of a quantized cache.
constexpr std::array unused_endings = {std::string_view(".input_scale"),
                                       std::string_view(".output_scale"),
                                       std::string_view(".input_global_scale"),
                                       std::string_view(".k_scale"),
                                       std::string_view(".v_scale"),
                                       std::string_view(".q_scale"),
                                       std::string_view(".prob_scale"),
                                       std::string_view(".kv_scale")};

int64_t in_whole(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit;
}

std::optional<ScaleType> scale_type_of(const std::string& dtype) {
  if (dtype == "F32") return ScaleType::f32;
  if (dtype == "F16") return ScaleType::f16;
  if (dtype == "BF16") return ScaleType::bf16;
  if (dtype == "F8_E4M3") return ScaleType::e4m3;
  if (dtype == "F8_E8M0" || dtype == "U8") return ScaleType::e8m0;
  return std::nullopt;
}

class Finder {
 public:
  Finder(std::vector<RawTensor>& found, const QuantizationFacts& facts, const std::string& what)
      : found_(found), facts_(facts), what_(what) {
    for (const RawTensor& each : found) by_name_.emplace(each.entry.name, &each);
  }

  std::vector<StoredTensor> take() {
    for (const RawTensor& each : found_) look_at(each);
    const auto is_unused = [](const std::string& name) {
      return std::any_of(unused_endings.begin(), unused_endings.end(),
                         [&](std::string_view ending) { return name.ends_with(ending); });
    };
    if (!matrices_.empty()) {
      for (const RawTensor& each : found_) {
        if (is_unused(each.entry.name)) taken_.insert(each.entry.name);
      }
    }
    std::erase_if(found_, [&](const RawTensor& each) { return taken_.contains(each.entry.name); });
    return std::move(matrices_);
  }

 private:
  void look_at(const RawTensor& codes) {
    const std::string& name = codes.entry.name;
    const std::string& type = codes.entry.dtype;
    const auto module = [&](std::string_view ending) {
      return name.substr(0, name.size() - ending.size());
    };
    if (name.ends_with(".weight") && (type == "F8_E4M3" || type == "I8")) {
      add_bytes(codes, module(".weight"), type == "I8" ? Codes::int8 : Codes::fp8);
    } else if (name.ends_with(".weight") && type == "U8") {
      add_pairs(codes, module(".weight"), ".weight_scale_2", false);
    } else if (name.ends_with(".weight_packed") && type == "U8") {
      add_pairs(codes, module(".weight_packed"), ".weight_global_scale", true);
    } else if (name.ends_with(".weight_packed") && type == "I32") {
      add_packed(codes, module(".weight_packed"));
    } else if (name.ends_with(".qweight") && type == "I32") {
      add_grouped(codes, module(".qweight"));
    } else if (name.ends_with("_blocks") && type == "U8") {
      add_stacked(codes, module("_blocks"));
    }
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& problem) const {
    throw_bad_input(fmt::format("{}: {:.120}: {}", what_, name, problem),
                    "a quantized checkpoint of a form that is not known, or a damaged one", name);
  }

  const RawTensor* find(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : at->second;
  }

  const RawTensor& need(const std::string& name, const RawTensor& of) const {
    if (const RawTensor* found = find(name)) return *found;
    refuse(of.entry.name, fmt::format("its {:.120} is missing", name));
  }

  StoredTensor take(const RawTensor& raw) {
    taken_.insert(raw.entry.name);
    return {.name = raw.entry.name,
            .shape = raw.entry.shape,
            .file = raw.file,
            .offset = raw.entry.offset,
            .bytes = raw.entry.bytes};
  }

  void expect_shape(const RawTensor& raw, const Shape& shape) const {
    if (raw.entry.shape == shape) return;
    refuse(raw.entry.name, fmt::format("is [{}], but [{}] belongs to its codes",
                                       fmt::join(raw.entry.shape, ", "), fmt::join(shape, ", ")));
  }

  void expect_type(const RawTensor& raw, std::string_view type) const {
    if (raw.entry.dtype != type) {
      refuse(raw.entry.name, fmt::format("is of type {}, not {}", raw.entry.dtype, type));
    }
  }

  const Shape& matrix_shape(const RawTensor& raw) const {
    if (raw.entry.shape.size() != 2) refuse(raw.entry.name, "is no matrix");
    return raw.entry.shape;
  }

  void take_scales(const RawTensor& scales, ScaledCodes& made) {
    const auto type = scale_type_of(scales.entry.dtype);
    if (!type) refuse(scales.entry.name, fmt::format("scales of type {}", scales.entry.dtype));
    made.scale_type = *type;
    made.scales = take(scales);
  }

  void take_factor(const RawTensor& raw, bool divides, ScaledCodes& made) {
    expect_type(raw, "F32");
    if (raw.entry.bytes != 4) refuse(raw.entry.name, "is not one number");
    made.factor = take(raw);
    made.factor_divides = divides;
  }

  // `stored_bits`: of one number, its share of the scales left out.
  void put(std::string name, Shape shape, int stored_bits, ScaledCodes made) {
    StoredTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = DType::f32;
    tensor.shape = std::move(shape);
    tensor.code_bits = stored_bits;
    tensor.codes = std::make_shared<const ScaledCodes>(std::move(made));
    matrices_.push_back(std::move(tensor));
  }

  // FP8 and int8: one scale, one for each output, or one for each block.
  void add_bytes(const RawTensor& codes, const std::string& module, Codes kind) {
    const Shape shape = matrix_shape(codes);
    ScaledCodes made{.codes = kind, .outputs = shape[0], .inputs = shape[1]};
    const RawTensor* blocks = find(module + ".weight_scale_inv");
    const RawTensor& scales = blocks != nullptr ? *blocks : need(module + ".weight_scale", codes);
    const Shape& of_scales = scales.entry.shape;
    int64_t count = 1;
    for (int64_t size : of_scales) count *= size;
    if (count == 1 && blocks == nullptr) {
      made.scale_rows = 0;
    } else if (blocks == nullptr && count == shape[0] &&
               (of_scales.size() == 1 || of_scales == Shape{shape[0], 1})) {
      made.scale_rows = 1;
    } else {
      made.scale_rows = facts_.block[0];
      made.scale_inputs = facts_.block[1];
      expect_shape(scales, {in_whole(shape[0], made.scale_rows), made.groups()});
    }
    made.tensor = take(codes);
    take_scales(scales, made);
    put(codes.entry.name, shape, 8, std::move(made));
  }

  // NVFP4: pairs of E2M1, an E4M3 scale for each 16 of them, and one factor.
  void add_pairs(const RawTensor& codes, const std::string& module, const char* factor,
                 bool divides) {
    const Shape stored = matrix_shape(codes);
    const Shape shape = {stored[0], 2 * stored[1]};
    ScaledCodes made{.codes = Codes::e2m1, .outputs = shape[0], .inputs = shape[1]};
    made.scale_inputs = 16;
    const RawTensor& scales = need(module + ".weight_scale", codes);
    expect_type(scales, "F8_E4M3");
    expect_shape(scales, {shape[0], made.groups()});
    take_factor(need(module + factor, codes), divides, made);
    made.tensor = take(codes);
    take_scales(scales, made);
    put(module + ".weight", shape, 4, std::move(made));
  }

  // compressed-tensors' int4. Zero points and codes are both stored with 8 added.
  void add_packed(const RawTensor& codes, const std::string& module) {
    const Shape stored = matrix_shape(codes);
    const RawTensor& scales = need(module + ".weight_scale", codes);
    const Shape of_scales = matrix_shape(scales);
    const RawTensor* listed = find(module + ".weight_shape");
    const int64_t inputs = 8 * stored[1];  // words that are not full end in zeros
    if (listed != nullptr) take(*listed);
    if (of_scales[0] != stored[0] || of_scales[1] < 1 || inputs % of_scales[1] != 0) {
      refuse(scales.entry.name, "does not fit its codes");
    }
    const Shape shape = {stored[0], inputs};
    ScaledCodes made{.codes = Codes::int4, .outputs = shape[0], .inputs = shape[1]};
    made.scale_inputs = inputs / of_scales[1];
    made.zero = 8;
    if (const RawTensor* zeros = find(module + ".weight_zero_point")) {
      expect_type(*zeros, "I32");
      expect_shape(*zeros, {in_whole(shape[0], 8), made.groups()});
      made.zeros = take(*zeros);
    }
    if (find(module + ".weight_g_idx") != nullptr) take_groups(module + ".weight_g_idx", made);
    made.tensor = take(codes);
    take_scales(scales, made);
    put(module + ".weight", shape, 4, std::move(made));
  }

  void take_groups(const std::string& name, ScaledCodes& made) {
    const RawTensor& groups = *find(name);
    expect_type(groups, "I32");
    expect_shape(groups, {made.inputs});
    made.group_of_input = take(groups);
  }

  // GPTQ packs eight inputs into a word, AWQ eight outputs; scales are [groups, outputs] in both.
  void add_grouped(const RawTensor& codes, const std::string& module) {
    if (facts_.bits != 4) refuse(codes.entry.name, fmt::format("codes of {} bits", facts_.bits));
    const Shape stored = matrix_shape(codes);
    const RawTensor& scales = need(module + ".scales", codes);
    const Shape of_scales = matrix_shape(scales);
    const int64_t outputs = of_scales[1];
    const bool mixed = 8 * stored[1] == outputs;
    if (!mixed && stored[1] != outputs) refuse(scales.entry.name, "does not fit its codes");
    const int64_t inputs = mixed ? stored[0] : 8 * stored[0];
    if (of_scales[0] < 1 || inputs % of_scales[0] != 0 || outputs % 8 != 0) {
      refuse(scales.entry.name, "does not fit its codes");
    }
    ScaledCodes made{.codes = mixed ? Codes::int4_mixed : Codes::int4_turned,
                     .outputs = outputs,
                     .inputs = inputs};
    made.scale_inputs = inputs / of_scales[0];
    made.scales_are_turned = true;
    made.zero = 8;
    if (const RawTensor* zeros = find(module + ".qzeros")) {
      expect_type(*zeros, "I32");
      expect_shape(*zeros, {of_scales[0], outputs / 8});
      made.zeros = take(*zeros);
      made.zero_plus = mixed || facts_.zeros_as_stored ? 0 : 1;
      // Files are labelled wrongly, but a symmetric one has its zero in the middle.
      if (!mixed && facts_.symmetric) made.zeros.reset();
    }
    if (!mixed && find(module + ".g_idx") != nullptr) take_groups(module + ".g_idx", made);
    made.tensor = take(codes);
    take_scales(scales, made);
    put(module + ".weight", {outputs, inputs}, 4, std::move(made));
  }

  // MXFP4 of stacked experts: [experts, outputs, inputs / 32, 16], a power of two for each 32.
  void add_stacked(const RawTensor& codes, const std::string& name) {
    const Shape& stored = codes.entry.shape;
    if (stored.size() != 4 || stored[3] != 16) return;
    const RawTensor& scales = need(name + "_scales", codes);
    expect_type(scales, "U8");
    expect_shape(scales, {stored[0], stored[1], stored[2]});
    const Shape shape = {stored[0], stored[1], 32 * stored[2]};
    ScaledCodes made{
        .codes = Codes::e2m1, .outputs = stored[0] * stored[1], .inputs = 32 * stored[2]};
    made.scale_inputs = 32;
    made.tensor = take(codes);
    take_scales(scales, made);
    put(name, shape, 4, std::move(made));
  }

  std::vector<RawTensor>& found_;
  const QuantizationFacts& facts_;
  const std::string& what_;
  std::map<std::string, const RawTensor*> by_name_;
  std::set<std::string> taken_;
  std::vector<StoredTensor> matrices_;
};

const Json* object_of(const Json& document, const char* key) {
  const auto at = document.find(key);
  return at != document.end() && at->is_object() ? &*at : nullptr;
}

}  // namespace

QuantizationFacts read_quantization_facts(const std::filesystem::path& folder) {
  QuantizationFacts facts;
  const std::filesystem::path file = folder / "config.json";
  if (!is_there(file)) return facts;
  const Json config = read_json_file(file, size_t{2} << 20, {.allow_infinity = true});
  if (!config.is_object()) return facts;
  const Json* block = object_of(config, "quantization_config");
  const Json* text = object_of(config, "text_config");
  if (block == nullptr && text != nullptr) block = object_of(*text, "quantization_config");
  if (block == nullptr) return facts;
  const auto text_of = [&](const char* key) {
    return block->contains(key) && (*block)[key].is_string() ? (*block)[key].get<std::string>()
                                                             : std::string();
  };
  facts.method = text_of("quant_method");
  facts.zeros_as_stored = text_of("checkpoint_format") == "gptq_v2";
  facts.symmetric = block->contains("sym") && (*block)["sym"] == true;
  if (block->contains("bits") && (*block)["bits"].is_number_integer()) {
    facts.bits = (*block)["bits"].get<int64_t>();
  }
  const auto size = block->find("weight_block_size");
  if (size != block->end() && size->is_array() && size->size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      const bool whole = (*size)[i].is_number_integer() && (*size)[i].get<int64_t>() >= 1;
      if (!whole) {
        throw_bad_input(fmt::format("{}: weight_block_size: not two sizes", file.string()),
                        "compare the file with the one that the model was released with",
                        "weight_block_size");
      }
      facts.block[i] = (*size)[i].get<int64_t>();
    }
  }
  return facts;
}

std::vector<StoredTensor> take_quantized(std::vector<RawTensor>& found,
                                         const QuantizationFacts& facts, const std::string& what) {
  return Finder(found, facts, what).take();
}

}  // namespace dure
