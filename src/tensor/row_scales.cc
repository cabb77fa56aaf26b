// See row_scales.h.
#include "tensor/row_scales.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/block_format.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

float number_at(const std::byte* from, ScaleType type) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytes_of(type)));
  switch (type) {
    case ScaleType::f32:
      return std::bit_cast<float>(bits);
    case ScaleType::f16:
      return float_from_f16(static_cast<uint16_t>(bits));
    case ScaleType::bf16:
      return float_from_bf16(static_cast<uint16_t>(bits));
    case ScaleType::e4m3:
      return float_from_fp8(static_cast<uint8_t>(bits));
    case ScaleType::e8m0:
      return 2.0f * mxfp4_scale(static_cast<uint8_t>(bits));
  }
  return 0.0f;
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
  zero_row_bytes = kept.zeros ? (groups.size() + 1) / 2 : 0;
  scales = outputs * zero_row_bytes;
  const Range rows = kept.rows == 0
                         ? Range{0, 1}
                         : in_units({kept.first_row, kept.first_row + outputs}, kept.rows);
  factor = scales + rows.size() * groups.size() * scale_bytes;
  listed = factor + (kept.factor ? 4 : 0);
  bytes = listed + (kept.listed_groups > 0 ? 4 * inputs.size() : 0);
}

ScaledRow::ScaledRow(const RowScales& kept, const ScaleLayout& layout, const std::byte* tables,
                     int64_t output, Range inputs)
    : kept_(&kept),
      layout_(layout),
      tables_(tables),
      output_(output),
      row_(kept.rows == 0 ? 0 : (kept.first_row + output) / kept.rows),
      inputs_(inputs) {
  if (kept.factor) std::memcpy(&factor_, tables + layout.factor, sizeof factor_);
}

int64_t ScaledRow::group_of(int64_t input) const {
  const int64_t held = std::clamp(input, inputs_.begin, inputs_.end - 1);
  if (kept_->listed_groups > 0) {
    int32_t group;
    std::memcpy(&group, tables_ + layout_.listed + 4 * (held - inputs_.begin), sizeof group);
    return group;
  }
  return kept_->inputs == 0 ? 0 : held / kept_->inputs;
}

float ScaledRow::scale(int64_t group) const {
  const float scale = number_at(tables_ + layout_.scale_at(row_, group), kept_->type);
  if (!kept_->factor) return scale;
  return kept_->factor_divides ? scale / factor_ : scale * factor_;
}

float ScaledRow::zero(int64_t group) const {
  if (!kept_->zeros) return static_cast<float>(kept_->zero);
  const auto both = static_cast<int32_t>(tables_[layout_.zero_at(output_, group)]);
  const int32_t stored = both >> (group - layout_.groups.begin) % 2 * 4 & 15;
  return static_cast<float>(stored + kept_->zero);
}

void ScaledRow::apply(int64_t first, int64_t count, float* values) const {
  for (int64_t i = 0; i < count;) {
    const int64_t group = group_of(first + i);
    const float subtracted = zero(group);
    const float factor = scale(group);
    do {
      values[i] = (values[i] - subtracted) * factor;
      ++i;
    } while (i < count && group_of(first + i) == group);
  }
}

bool ScaledRow::in_sixteens() const {
  return kept_->listed_groups == 0 && kept_->inputs % 16 == 0;
}

}  // namespace dure
