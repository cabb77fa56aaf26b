// See release_formats.h: one function for each family of tools.
#include "model/release_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "model/config_reader.h"

namespace dure {
namespace {

constexpr size_t most_names = 1 << 16;
constexpr size_t most_groups = 1 << 16;
constexpr IntRange any_bits = {1, 32};
constexpr IntRange any_group = {-1, 1 << 20};
constexpr int unquantized_bits = 16;

// Numbers of so many bits, of which `group` share a scale; 0: a row or a matrix does, which is too
// little to count.
struct Scheme {
  bool floating = false;
  int64_t bits = 8;
  int64_t group = 0;
  double scale_bits = 16;
  bool zero_points = false;
};

constexpr Scheme fp8 = {true, 8, 0};
constexpr Scheme nvfp4 = {true, 4, 16, 8};  // E4M3 scales
constexpr Scheme mxfp4 = {true, 4, 32, 8};  // E8M0 scales (OCP MX 1.0)
constexpr Scheme mxfp8 = {true, 8, 32, 8};
constexpr Scheme int8 = {false, 8, 0};

std::string_view name_of(const Scheme& scheme) {
  if (scheme.floating) {
    if (scheme.bits == 4)
      return scheme.group == 16 ? "nvfp4" : scheme.group == 32 ? "mxfp4" : "fp4";
    if (scheme.bits == 8) return scheme.group == 32 ? "mxfp8" : "fp8";
    return scheme.bits == 6 ? "fp6" : "floats";
  }
  constexpr std::array<std::string_view, 9> integers = {"",     "int1", "int2", "int3", "int4",
                                                        "int5", "int6", "int7", "int8"};
  return scheme.bits < 9 ? integers[static_cast<size_t>(scheme.bits)] : "integers";
}

std::optional<WeightFormat> format_of(const Scheme& scheme) {
  if (scheme.bits >= unquantized_bits) return std::nullopt;
  auto bits = static_cast<double>(scheme.bits);
  if (scheme.group > 0) {
    const double shared = scheme.scale_bits + (scheme.zero_points ? bits : 0.0);
    bits += shared / static_cast<double>(scheme.group);
  }
  return WeightFormat{name_of(scheme), bits};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Reader {
 public:
  Reader(ConfigReader& block, std::string method, const std::string& expert_type)
      : block_(block), method_(std::move(method)), expert_type_(expert_type) {}

  ReleaseFormats run() {
    const std::string method = lower(method_);
    if (method == "compressed-tensors") {
      read_compressed_tensors();
    } else if (method == "fp8" || method == "fbgemm_fp8" || method == "ptpc_fp8") {
      read_fp8();
    } else if (method == "mxfp4" || method == "gpt_oss_mxfp4") {
      read_mxfp4();
    } else if (method == "gptq" || method == "gptq_marlin" || method == "auto-round" ||
               method == "intel/auto-round") {
      read_gptq();
    } else if (method == "awq" || method == "awq_marlin" || method == "gemm") {
      read_awq();
    } else if (method == "bitsandbytes") {
      read_bitsandbytes();
    } else if (method == "quark") {
      read_quark();
    } else if (method.starts_with("modelopt") || algorithm_named(method)) {
      read_modelopt();
    } else {
      guess();
    }
    return std::move(formats_);
  }

 private:
  void remark(std::string text) { formats_.remarks.push_back(std::move(text)); }

  // A list under one of `keys`, whichever is there.
  NameList names_under(ConfigReader& from, std::initializer_list<std::string_view> keys) {
    NameList names;
    for (const std::string_view key : keys) {
      for (const std::string& name : from.texts_or_empty(key, most_names)) add(names, name);
    }
    return names;
  }
  void add(NameList& names, const std::string& entry) {
    if (names.add(entry)) return;
    remark(
        fmt::format("the quantization block names modules by \"{:.80}\", which is not "
                    "understood: counted as if it named none",
                    entry));
  }
  void leave(std::initializer_list<std::string_view> keys) {
    FormatRule rule;
    rule.names = names_under(block_, keys);
    if (!rule.names.empty()) formats_.rules.push_back(std::move(rule));
  }
  void store(const Scheme& scheme, bool head = false) {
    FormatRule rule;
    rule.head = head;
    rule.format = format_of(scheme);
    formats_.rules.push_back(std::move(rule));
  }
  void store(NameList names, const std::optional<WeightFormat>& format) {
    FormatRule rule;
    rule.names = std::move(names);
    rule.format = format;
    formats_.rules.push_back(std::move(rule));
  }
  void store_experts(const Scheme& scheme) {
    FormatRule rule;
    rule.experts_only = true;
    rule.format = format_of(scheme);
    formats_.rules.push_back(std::move(rule));
  }

  int64_t first_integer(std::initializer_list<std::string_view> keys, int64_t otherwise,
                        IntRange range) {
    for (const std::string_view key : keys) {
      if (const auto value = block_.optional_integer(key, range)) return *value;
    }
    return otherwise;
  }

  Scheme scheme_of(ConfigReader& weights, const std::string& group_format) {
    Scheme scheme;
    scheme.bits = weights.optional_integer("num_bits", any_bits).value_or(8);
    scheme.floating = weights.optional_text("type") == "float";
    scheme.group =
        std::max<int64_t>(weights.optional_integer("group_size", any_group).value_or(0), 0);
    scheme.zero_points =
        !scheme.floating && weights.has("symmetric") && !weights.boolean_or("symmetric", true);
    const std::string scales = weights.optional_text("scale_dtype");
    const bool small = scales.find("int8") != std::string::npos ||
                       scales.find("float8") != std::string::npos ||
                       group_format.find("fp4") != std::string::npos;
    // Scales of 4-bit floats are bytes in every format there is.
    if (small || (scheme.floating && scheme.bits == 4)) scheme.scale_bits = 8;
    const auto block = weights.integers_or_empty("block_structure", {1, 1 << 20}, 2);
    if (block.size() == 2) {
      scheme.group = block[0] * block[1];
      scheme.scale_bits = 32;
    }
    return scheme;
  }

  // Also of ModelOpt's, where it writes in the same words.
  void read_groups(bool head) {
    const std::string format = block_.optional_text("format");
    for (auto& [name, group] : block_.members("config_groups", most_groups)) {
      auto weights = group.object("weights");
      if (!weights) continue;  // activations alone
      const std::string own = group.optional_text("format");
      FormatRule rule;
      rule.format = format_of(scheme_of(*weights, own.empty() ? format : own));
      bool every_linear = true;
      for (const std::string& target : group.texts_or_empty("targets", most_names)) {
        // A class of layers or a module: modules have lower-case names.
        const bool is_class = !target.empty() && target[0] >= 'A' && target[0] <= 'Z';
        if (!is_class) add(rule.names, target);
        if (!is_class) every_linear = false;
      }
      if (!every_linear && rule.names.empty()) continue;
      rule.head = head && every_linear;
      formats_.rules.push_back(std::move(rule));
    }
  }

  void read_compressed_tensors() {
    leave({"ignore"});
    read_groups(true);
    if (block_.object("sparsity_config")) {
      auto sparsity = block_.object("sparsity_config");
      const std::string format = sparsity->optional_text("format");
      if (!format.empty() && format != "dense") {
        remark(
            fmt::format("the checkpoint's sparsity ({:.40}) is not counted: every weight is "
                        "counted as stored",
                        format));
      }
    }
    if (formats_.smallest()) return;
    remark("the compressed-tensors block quantizes no weights: they are counted as unquantized");
  }

  void read_layers() {
    // As few rules as there are kinds: one for each algorithm and group size.
    std::vector<std::pair<WeightFormat, NameList>> kinds;
    for (auto& [name, layer] : block_.members("quantized_layers", most_groups)) {
      const std::string algorithm = layer.optional_text("quant_algo");
      auto scheme = algorithm_named(lower(algorithm));
      if (!scheme) {
        remark_unknown(fmt::format("{:.40} of {:.80}", algorithm, name), "unquantized");
        continue;
      }
      set_group(*scheme, layer);
      const WeightFormat format = *format_of(*scheme);
      auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& each) {
        return each.first.name == format.name &&
               each.first.bits_per_weight == format.bits_per_weight;
      });
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {format, {}});
      add(kind->second, name);
    }
    for (auto& [format, names] : kinds) store(std::move(names), format);
  }

  void read_fp8() {
    Scheme scheme = fp8;
    const auto block = block_.integers_or_empty("weight_block_size", {1, 1 << 20}, 2);
    if (block.size() == 2) {
      scheme.group = block[0] * block[1];
      scheme.scale_bits = 32;
    }
    read_layers();  // of releases that quantize experts further
    leave({"modules_to_not_convert", "ignored_layers"});
    if (expert_type_ == "fp4") store_experts(mxfp4);
    store(scheme);
  }

  void read_mxfp4() {
    leave({"modules_to_not_convert"});
    store_experts(mxfp4);
  }

  void read_gptq() {
    Scheme scheme;
    scheme.bits = first_integer({"bits", "w_bit"}, 4, any_bits);
    scheme.group = std::max<int64_t>(first_integer({"group_size"}, 128, any_group), 0);
    scheme.zero_points = true;  // stored whether symmetric or not
    for (auto& [name, own] : block_.members("dynamic", most_names)) {
      read_override(name.starts_with("-:") ? "" : "bits", name, own, scheme);
    }
    for (auto& [name, own] : block_.members("extra_config", most_names)) {
      read_override("bits", name, own, scheme);
    }
    leave({"modules_to_not_convert"});
    const auto blocks = block_.optional_text("data_type");
    scheme.floating = blocks == "nv_fp" || blocks == "mx_fp" || blocks == "fp";
    if (scheme.floating) scheme.zero_points = false;
    if (scheme.floating && scheme.group > 0) scheme.scale_bits = 8;
    store(scheme, block_.boolean_or("lm_head", false));
  }

  // Modules that have another width than the rest: "+:expression" and "-:expression" of GPTQModel.
  void read_override(std::string_view key, const std::string& name, ConfigReader& own,
                     Scheme scheme) {
    const bool expression = name.starts_with("+:") || name.starts_with("-:");
    NameList names;
    add(names, expression ? "re:" + name.substr(2) : name);
    if (key.empty()) {
      store(std::move(names), std::nullopt);
      return;
    }
    scheme.bits = own.optional_integer(key, any_bits).value_or(scheme.bits);
    scheme.group =
        std::max<int64_t>(own.optional_integer("group_size", any_group).value_or(scheme.group), 0);
    store(std::move(names), format_of(scheme));
  }

  void read_awq() {
    Scheme scheme;
    scheme.bits = first_integer({"bits", "w_bit"}, 4, any_bits);
    scheme.group =
        std::max<int64_t>(first_integer({"group_size", "q_group_size"}, 128, any_group), 0);
    scheme.zero_points = block_.boolean_or("zero_point", true);
    leave({"modules_to_not_convert"});
    store(scheme);
  }

  void read_bitsandbytes() {
    leave({"llm_int8_skip_modules", "modules_to_not_convert"});
    const bool four =
        block_.boolean_or("load_in_4bit", false) || block_.boolean_or("_load_in_4bit", false);
    if (!four) {
      store(int8);
      return;
    }
    // One scale of 32 bits for 64 weights; quantized again, 8 bits for 64 and 32 for 256 of these.
    Scheme scheme{false, 4, 64, 32};
    if (block_.boolean_or("bnb_4bit_use_double_quant", false)) scheme.scale_bits = 8.125;
    store(scheme);
  }

  void read_quark() {
    leave({"exclude"});
    auto global = block_.object("global_quant_config");
    auto weight = global ? global->object("weight") : std::nullopt;
    const std::string type = weight ? weight->optional_text("dtype") : "";
    if (type.starts_with("fp8")) return store(fp8);
    if (type.starts_with("fp4") || type == "mxfp4") return store(mxfp4);
    if (type == "int8") return store(int8);
    if (type == "int4" || type == "uint4") {
      Scheme scheme{false, 4, 0};
      scheme.group =
          std::max<int64_t>(weight->optional_integer("group_size", any_group).value_or(0), 0);
      scheme.zero_points = type == "uint4";
      return store(scheme);
    }
    remark_unknown("quark " + type, "unquantized");
  }

  // ModelOpt's names, and those that other tools share with it; in lower case.
  static std::optional<Scheme> algorithm_named(const std::string& name) {
    struct Algorithm {
      std::string_view name;
      Scheme scheme;
    };
    constexpr Scheme int4_groups = {false, 4, 128, 16};
    constexpr Algorithm algorithms[] = {
        {"fp8", fp8},
        {"fp8_pb_wo", fp8},
        {"fp8_pb_real", fp8},
        {"fp8_block_scales", fp8},
        {"fp8_per_channel_per_token", fp8},
        {"nvfp4", nvfp4},
        {"nvfp4_awq", nvfp4},
        {"w4a16_nvfp4", nvfp4},
        {"w4a8_nvfp4_fp8", nvfp4},
        {"mxfp4", mxfp4},
        {"w4a8_mxfp4_fp8", mxfp4},
        {"mxfp8", mxfp8},
        {"int4_awq", int4_groups},
        {"w4a16_awq", int4_groups},
        {"w4a8_awq", int4_groups},
        {"w4a16", {false, 4, 0}},
        {"w4a16_gptq", int4_groups},
        {"w8a16", int8},
        {"w8a8", int8},
        {"int8", int8},
        {"int8_sq", int8},
        {"w8a8_sq_per_channel", int8},
        {"experts_int8", int8},
        {"tpu_int8", int8},
        {"eetq", int8},
    };
    for (const Algorithm& each : algorithms) {
      if (each.name == name) return each.scheme;
    }
    return std::nullopt;
  }

  static void set_group(Scheme& scheme, ConfigReader& from) {
    const int64_t group = from.optional_integer("group_size", any_group).value_or(0);
    if (group > 0 && scheme.group > 0) scheme.group = group;
  }

  void read_modelopt() {
    std::string algorithm = lower(block_.optional_text("quant_algo"));
    if (algorithm.empty()) algorithm = lower(method_);
    if (algorithm == "mixed_precision") {
      read_layers();
    } else {
      leave({"ignore", "exclude_modules", "modules_to_not_convert"});
    }
    if (formats_.smallest()) return;
    if (auto scheme = algorithm_named(algorithm)) {
      set_group(*scheme, block_);
      store(*scheme);
      return;
    }
    read_groups(false);
    if (!formats_.smallest()) remark_unknown(algorithm, "unquantized");
  }

  // A tool that is not known, but says how many bits.
  void guess() {
    leave({"modules_to_not_convert", "ignore", "exclude", "exclude_modules", "ignored_layers"});
    const int64_t bits =
        first_integer({"bits", "num_bits", "w_bit", "nbits", "weight_bits"}, 0, any_bits);
    if (bits == 0 || bits >= unquantized_bits) {
      remark_unknown(method_, "unquantized");
      return;
    }
    Scheme scheme{false, bits, 0};
    scheme.group = std::max<int64_t>(first_integer({"group_size"}, 0, any_group), 0);
    store(scheme);
    remark_unknown(method_, fmt::format("{} bits a weight, as it states", bits));
  }

  void remark_unknown(const std::string& what, const std::string& counted) {
    remark(
        fmt::format("quantization \"{:.80}\" is not known: its weights are counted as {}; "
                    "--weights counts them as you say",
                    what, counted));
  }

  ConfigReader& block_;
  std::string method_;
  const std::string& expert_type_;
  ReleaseFormats formats_;
};

}  // namespace

std::optional<WeightFormat> ReleaseFormats::smallest() const {
  std::optional<WeightFormat> found;
  for (const FormatRule& rule : rules) {
    if (!rule.format) continue;
    if (!found || rule.format->bits_per_weight < found->bits_per_weight) found = rule.format;
  }
  return found;
}

ReleaseFormats read_release_formats(ConfigReader& block, const std::string& method,
                                    const std::string& expert_type) {
  return Reader(block, method, expert_type).run();
}

}  // namespace dure
