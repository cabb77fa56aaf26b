// See row_scales.h.
#include "tensor/row_scales.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/block_format.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

// E4M3 of each byte: a scale for every 16 weights is looked up.
const std::array<float, 256>& e4m3_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> made;
    for (size_t i = 0; i < made.size(); ++i) made[i] = float_from_fp8(static_cast<uint8_t>(i));
    return made;
  }();
  return values;
}

template <typename Stored, typename Value>
void read_numbers(const std::byte* from, int64_t count, float* to, const Value& value) {
  for (int64_t i = 0; i < count; ++i) {
    Stored bits;
    std::memcpy(&bits, from + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    to[i] = value(bits);
  }
}

void read_numbers(const std::byte* from, ScaleType type, int64_t count, float* to) {
  switch (type) {
    case ScaleType::f32:
      return read_numbers<float>(from, count, to, [](float value) { return value; });
    case ScaleType::f16:
      return read_numbers<uint16_t>(from, count, to, float_from_f16);
    case ScaleType::bf16:
      return read_numbers<uint16_t>(from, count, to, float_from_bf16);
    case ScaleType::e4m3: {
      const std::array<float, 256>& values = e4m3_values();
      return read_numbers<uint8_t>(from, count, to, [&](uint8_t bits) { return values[bits]; });
    }
    case ScaleType::e8m0:
      return read_numbers<uint8_t>(from, count, to,
                                   [](uint8_t bits) { return 2.0f * mxfp4_scale(bits); });
  }
}

}  // namespace

int64_t bytes_of(ScaleType type) {
  switch (type) {
    case ScaleType::f32:
      return 4;
    case ScaleType::f16:
    case ScaleType::bf16:
      return 2;
    case ScaleType::e4m3:
    case ScaleType::e8m0:
      return 1;
  }
  return 0;
}

ScaleLayout::ScaleLayout(const RowScales& kept, int64_t outputs, Range inputs) {
  if (outputs == 0 || inputs.size() == 0) return;
  groups = kept.listed_groups > 0 ? Range{0, kept.listed_groups}
           : kept.inputs > 0      ? in_units(inputs, kept.inputs)
                                  : Range{0, 1};
  scale_bytes = bytes_of(kept.type);
  scale_rows = kept.row_of(outputs - 1) + 1;
  zero_group_bytes = kept.zeros ? (outputs + 1) / 2 : 0;
  scales = groups.size() * zero_group_bytes;
  factor = scales + groups.size() * scale_rows * scale_bytes;
  listed = factor + (kept.factor ? 4 : 0);
  bytes = listed + (kept.listed_groups > 0 ? 4 * inputs.size() : 0);
}

ScaleReader::ScaleReader(const RowScales& kept, const ScaleLayout& layout, const std::byte* tables,
                         Range inputs)
    : kept_(&kept), layout_(layout), tables_(tables), inputs_(inputs) {
  if (kept.factor) std::memcpy(&factor_, tables + layout.factor, sizeof factor_);
}

int64_t ScaleReader::group_of(int64_t input) const {
  if (kept_->listed_groups == 0) return kept_->inputs == 0 ? 0 : input / kept_->inputs;
  int32_t group;
  std::memcpy(&group, tables_ + layout_.listed + 4 * (input - inputs_.begin), sizeof group);
  return group;
}

int64_t ScaleReader::run_end(int64_t input) const {
  if (kept_->listed_groups == 0) {
    if (kept_->inputs == 0) return inputs_.end;
    return std::min(inputs_.end, (input / kept_->inputs + 1) * kept_->inputs);
  }
  const int64_t group = group_of(input);
  while (++input < inputs_.end && group_of(input) == group) {
  }
  return input;
}

void ScaleReader::read(int64_t group, int64_t first, int64_t count, float* zeros,
                       float* scales) const {
  for (int64_t i = 0; i < count; ++i) zeros[i] = static_cast<float>(kept_->zero);
  for (int64_t i = 0; i < count && kept_->zeros; ++i) {
    const auto both = static_cast<int32_t>(tables_[layout_.zero_at(first + i, group)]);
    zeros[i] += static_cast<float>(both >> (first + i) % 2 * 4 & 15);
  }
  if (kept_->rows == 1) {
    const std::byte* const from = tables_ + layout_.scale_at(kept_->first_row + first, group);
    read_numbers(from, kept_->type, count, scales);
  } else {
    // Neighbours mostly share one.
    int64_t row = -1;
    for (int64_t i = 0; i < count; ++i) {
      if (kept_->row_of(first + i) == row) {
        scales[i] = scales[i - 1];
        continue;
      }
      row = kept_->row_of(first + i);
      read_numbers(tables_ + layout_.scale_at(row, group), kept_->type, 1, scales + i);
    }
  }
  if (!kept_->factor) return;
  for (int64_t i = 0; i < count; ++i)
    scales[i] = kept_->factor_divides ? scales[i] / factor_ : scales[i] * factor_;
}

}  // namespace dure
