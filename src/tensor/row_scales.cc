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

void ScaledRow::read_scales(int64_t group, int64_t count, float* scales) const {
  read_numbers(tables_ + layout_.scale_at(row_, group), kept_->type, count, scales);
  if (!kept_->factor) return;
  for (int64_t i = 0; i < count; ++i)
    scales[i] = kept_->factor_divides ? scales[i] / factor_ : scales[i] * factor_;
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
    float scale;
    read_scales(group, 1, &scale);
    do {
      values[i] = (values[i] - subtracted) * scale;
      ++i;
    } while (i < count && group_of(first + i) == group);
  }
}

bool ScaledRow::in_sixteens() const {
  return kept_->listed_groups == 0 && kept_->inputs % 16 == 0;
}

void ScaledRow::sixteens(int64_t first, int64_t count, float* zeros, float* scales) const {
  const int64_t group = group_of(first);
  const int64_t groups = group_of(first + 16 * count - 1) - group + 1;
  float own[most_sixteens];
  read_scales(group, groups, own);
  const int64_t run = kept_->inputs == 0 ? count : kept_->inputs / 16;
  // Before the row's first input the group is its own.
  const int64_t before = std::max<int64_t>(inputs_.begin / 16 - first / 16, 0);
  int64_t done = kept_->inputs == 0 ? 0 : (first / 16 + before) % run;  // of the group
  for (int64_t i = 0, at = 0; i < count; ++i) {
    scales[i] = own[at];
    zeros[i] = zero(group + at);
    if (i < before || ++done < run || at + 1 == groups) continue;
    done = 0;
    ++at;
  }
}

}  // namespace dure
