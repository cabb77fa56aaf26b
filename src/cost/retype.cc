// See retype.h.
#include "cost/retype.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace dure {
namespace {

bool is_of_attention(Part part) {
  switch (part) {
    case Part::q:
    case Part::k:
    case Part::v:
    case Part::o:
    case Part::q_a:
    case Part::q_nope:
    case Part::q_rope:
    case Part::kv_a:
    case Part::k_up:
    case Part::v_up:
    case Part::output_gate:
      return true;
    default:
      return false;
  }
}

// What only a rule that names it quantizes.
bool may_be_named(const Weight& weight) {
  switch (weight.part) {
    case Part::embedding:
    case Part::lm_head:
    case Part::router:
    case Part::index_q:
    case Part::index_k:
    case Part::index_weights:
    case Part::compressor:
      return weight.is_matrix();
    default:
      return is_retyped(weight);
  }
}

bool holds_for(const FormatRule& rule, const Weight& weight) {
  if (rule.experts_only && weight.expert < 0) return false;
  if (!rule.names.empty()) return may_be_named(weight) && rule.names.holds(weight.name);
  return is_retyped(weight) || (rule.head && weight.part == Part::lm_head);
}

// Of a format that was asked for: what releases in it leave in the first type.
bool usually_takes(const Weight& weight, const ModelSpec& spec, const WeightFormat& format) {
  if (!is_retyped(weight)) return false;
  if (weight.layer < 0) return true;
  const LayerSpec& layer = spec.layers[static_cast<size_t>(weight.layer)];
  if (format.name == "mxfp4" && std::holds_alternative<MoeFfn>(layer.ffn)) {
    return weight.expert >= 0;
  }
  if (format.name == "nvfp4" && std::holds_alternative<MlaSpec>(layer.attention)) {
    return !is_of_attention(weight.part);
  }
  return true;
}

}  // namespace

bool is_retyped(const Weight& weight) {
  if (!weight.is_matrix()) return false;
  switch (weight.part) {
    case Part::embedding:
    case Part::lm_head:
    case Part::router:
    case Part::shared_router:
    case Part::index_q:
    case Part::index_k:
    case Part::index_weights:
    case Part::expert_down_bias:
    case Part::expert_table:
    case Part::stream_mix:
    case Part::compressor:
    case Part::state_conv_q:
    case Part::state_conv_k:
    case Part::state_conv_v:
      return false;
    default:
      return true;
  }
}

std::optional<WeightFormat> counted_in(const Weight& weight, const ModelSpec& spec,
                                       const std::optional<WeightFormat>& format) {
  if (!format) return std::nullopt;
  if (!format->released) {
    return usually_takes(weight, spec, *format) ? format : std::nullopt;
  }
  for (const FormatRule& rule : spec.release.rules) {
    if (holds_for(rule, weight)) return rule.format;
  }
  return std::nullopt;
}

std::optional<WeightFormat> retype(ModelSpec& spec, std::string_view name) {
  std::optional<WeightFormat> released = spec.release.smallest();
  if (released && (name.empty() || name == released->name)) {
    released->released = true;
    return released;
  }
  if (name.empty()) return std::nullopt;
  const WeightFormat format = find_weight_format(name);
  if (name == "bf16") {
    spec.dtype = DType::bf16;
  } else if (name == "f16" || name == "fp16") {
    spec.dtype = DType::f16;
  } else if (name == "f32" || name == "fp32") {
    spec.dtype = DType::f32;
  } else {
    return format;
  }
  return std::nullopt;
}

std::vector<std::string> release_remarks(const ModelSpec& spec,
                                         const std::optional<WeightFormat>& format) {
  if (format && !format->released) return {};
  return spec.release.remarks;
}

std::string format_text(const ModelSpec& spec, const std::optional<WeightFormat>& format) {
  if (!format) return std::string(to_string(spec.dtype));
  return fmt::format("{}{}", format->name, format->released ? " as released" : "");
}

}  // namespace dure
