// Element types of weights and buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dure {

// fp8 is OCP's E4M3 (OFP8, revision 1.0): sign, 4 bits of exponent, 3 of mantissa, no infinities;
// of caches only.
enum class DType { f32, bf16, f16, fp8 };

int64_t bytes_of(DType dtype);
std::string_view to_string(DType dtype);  // "bf16"

// The names that safetensors headers ("BF16") and config.json ("bfloat16") use.
std::optional<DType> dtype_from_safetensors(std::string_view name);
std::optional<DType> dtype_from_config(std::string_view name);

// What matrices are multiplied in. bf16: inputs rounded to bf16, products and sums in fp32.
enum class Compute { bf16, fp32 };

std::string_view to_string(Compute compute);

// How a matrix of `stored` type is kept in memory by a rank that computes in `compute`: bf16
// compute wants bf16; fp32 compute keeps the stored type, since widening to fp32 is exact and costs
// nothing.
DType resident_dtype(DType stored, Compute compute);

}  // namespace dure
