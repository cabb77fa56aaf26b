// See retype.h.
#include "cost/retype.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace dure {
namespace {

// What a quantized release stores its matrices in, where its method's name says it.
std::string format_of_release(const std::string& quantization) {
  std::string name = quantization;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "awq" || name == "gptq") return "int4";
  if (name == "fp8" || name == "nvfp4" || name == "mxfp4") return name;
  return "";
}

}  // namespace

std::optional<WeightFormat> retype(ModelSpec& spec, std::string_view name) {
  const std::string used = name.empty() ? format_of_release(spec.quantization) : std::string(name);
  if (used.empty()) return std::nullopt;
  const WeightFormat format = find_weight_format(used);
  if (used == "bf16") {
    spec.dtype = DType::bf16;
  } else if (used == "f16" || used == "fp16") {
    spec.dtype = DType::f16;
  } else if (used == "f32" || used == "fp32") {
    spec.dtype = DType::f32;
  } else {
    return format;
  }
  return std::nullopt;
}

}  // namespace dure
