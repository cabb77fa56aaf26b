// See pack_codes.h.
#include "kernels/pack_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensor/float_bits.h"

namespace dure {
namespace {

// 1.5 * 2^23: adding it rounds a small number to a whole one, ties to even, in the low bits.
constexpr float rounder = 12582912.0f;

// The fp16 number of smallest magnitude that is not below |value|.
uint16_t f16_away_from_zero(float value) {
  const uint16_t nearest = f16_from_float(value);
  const bool below = std::abs(float_from_f16(nearest)) < std::abs(value);
  return static_cast<uint16_t>(nearest + (below ? 1 : 0));
}

float extreme_of(const float* weights, int64_t count) {
  float extreme = weights[0];
  for (int64_t i = 1; i < count; ++i)
    if (std::abs(weights[i]) > std::abs(extreme)) extreme = weights[i];
  return extreme;
}

bool all_finite(const float* weights, int64_t count) {
  float probe = 0.0f;
  for (int64_t i = 0; i < count; ++i) probe += weights[i] * 0.0f;
  return probe == 0.0f;
}

}  // namespace

void quantize_group(const float* weights, int64_t count, CodeFormat format, uint8_t* codes,
                    uint16_t* scale) {
  const int32_t zero = code_zero(format);
  const float extreme = extreme_of(weights, count);
  const float exact = format == CodeFormat::q8 ? std::abs(extreme) / 127.0f : extreme / -8.0f;
  constexpr uint16_t nan = 0x7e00;
  constexpr uint16_t infinity = 0x7c00;
  *scale = all_finite(weights, count) ? f16_away_from_zero(exact) : nan;
  if ((*scale & 0x7fffu) >= infinity) *scale = nan;
  const float step = float_from_f16(*scale);
  const float inverse = *scale == nan || step == 0.0f ? 0.0f : 1.0f / step;
  const float low = format == CodeFormat::q8 ? -127.0f : -8.0f;
  const float high = format == CodeFormat::q8 ? 127.0f : 7.0f;
  for (int64_t i = 0; i < count; ++i) {
    const float whole = std::min(std::max(weights[i] * inverse, low), high) + rounder;
    codes[i] = static_cast<uint8_t>(std::bit_cast<int32_t>(whole) + zero);
  }
}

void CodeWriter::write(const uint8_t* codes, int64_t count, uint16_t scale) {
  const int64_t step_bytes = code_step_bytes(format_);
  for (int64_t i = 0; i < count; i += code_step, at_ += step_bytes) {
    const int64_t n = std::min(count - i, code_step);
    if (format_ == CodeFormat::q8) {
      std::memcpy(at_ + column_ * 4, codes + i, static_cast<size_t>(n));
      continue;
    }
    const int shift = column_ < 16 ? 0 : 4;
    const auto keep = static_cast<std::byte>(0xf0 >> shift);
    std::byte* const four = at_ + column_ % 16 * 4;
    for (int64_t j = 0; j < n; ++j)
      four[j] = (four[j] & keep) | static_cast<std::byte>(codes[i + j] << shift);
  }
  std::memcpy(at_ + column_ * 2, &scale, sizeof scale);
  at_ += code_scale_bytes;
}

float CodeReader::read(int64_t count, int32_t* whole) {
  const int64_t step_bytes = code_step_bytes(format_);
  const int64_t steps = (count + code_step - 1) / code_step;
  uint16_t bits;
  std::memcpy(&bits, at_ + steps * step_bytes + column_ * 2, sizeof bits);
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* const step = at_ + i / code_step * step_bytes;
    const int64_t j = i % code_step;
    const auto code =
        format_ == CodeFormat::q8
            ? static_cast<int32_t>(step[column_ * 4 + j])
            : static_cast<int32_t>(step[column_ % 16 * 4 + j]) >> (column_ < 16 ? 0 : 4) & 15;
    whole[i] = code - code_zero(format_);
  }
  at_ += steps * step_bytes + code_scale_bytes;
  return float_from_f16(bits);
}

}  // namespace dure
