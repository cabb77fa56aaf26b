// See dtype.h.
#include "tensor/dtype.h"

namespace dure {

int64_t bytes_of(DType dtype) {
  if (dtype == DType::f32) return 4;
  return dtype == DType::fp8 ? 1 : 2;
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::fp8:
      return "fp8";
  }
  return "?";
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  if (name == "F32") return DType::f32;
  if (name == "BF16") return DType::bf16;
  if (name == "F16") return DType::f16;
  return std::nullopt;
}

std::optional<DType> dtype_from_config(std::string_view name) {
  if (name == "float32") return DType::f32;
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::f16;
  return std::nullopt;
}

std::string_view to_string(Compute compute) {
  return compute == Compute::bf16 ? "bf16" : "fp32";
}

DType resident_dtype(DType stored, Compute compute) {
  return compute == Compute::bf16 ? DType::bf16 : stored;
}

}  // namespace dure
