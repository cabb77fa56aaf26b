// See weight_format.h.
#include "cost/weight_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/closest.h"
#include "base/error.h"
#include "cost/most_bytes.h"

namespace dure {
namespace {

// mxfp4: one E8M0 scale per 32 weights (OCP MX 1.0); nvfp4: one E4M3 scale per 16; int4: GPTQ and
// AWQ with one fp16 scale and zero point of 4 bits per 128; q*_*: GGML block formats. q4_k and q5_k
// are the usual files (Q4_K_M, Q5_K_M), where some matrices are kept in more bits.
constexpr WeightFormat formats[] = {
    {"f32", 32},       {"fp32", 32},    {"bf16", 16},   {"f16", 16},
    {"fp16", 16},      {"fp8", 8},      {"int8", 8},    {"fp4", 4},
    {"int4", 4.15625}, {"mxfp4", 4.25}, {"nvfp4", 4.5}, {"q8_0", 8.5},
    {"q6_k", 6.5625},  {"q5_k", 5.69},  {"q4_k", 4.64}, {"q4_0", 4.5},
};

}  // namespace

std::vector<std::string> known_weight_formats() {
  std::vector<std::string> names;
  for (const WeightFormat& format : formats) names.emplace_back(format.name);
  return names;
}

WeightFormat find_weight_format(std::string_view name) {
  for (const WeightFormat& format : formats) {
    if (format.name == name) return format;
  }
  throw_bad_input(fmt::format("--weights {:.40}: unknown number format", name),
                  fmt::format("did you mean {}? Known are {}",
                              closest(name, known_weight_formats()).value_or("bf16"),
                              fmt::join(known_weight_formats(), ", ")),
                  "weights");
}

int64_t bytes_in(const WeightFormat& format, int64_t weights) {
  const double bytes = std::ceil(static_cast<double>(weights) * format.bits_per_weight / 8);
  return bytes < static_cast<double>(most_bytes) ? static_cast<int64_t>(bytes) : most_bytes;
}

}  // namespace dure
