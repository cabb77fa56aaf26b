// Scales of rows that are kept as a checkpoint's small codes (BlockFormat::fp8 to int4), as
// quantization tools write them: number = (code - zero) * (scale * factor), each operation rounded
// to fp32. They lie behind the codes of all rows, numbers as small as in the checkpoint:
//   zero points  [outputs][groups / 2, rounded up] bytes, the first of two groups in the low half
//   scales       [rows of scales][groups] of `type`
//   factor       fp32
//   listed       [inputs] int32: the group of each
// A group is so many inputs that share a scale. A rank that holds a part of the inputs has the
// groups that these lie in, or all where they are listed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/range.h"

namespace dure {

enum class ScaleType { f32, f16, bf16, e4m3, e8m0 };
int64_t bytes_of(ScaleType type);

struct RowScales {
  ScaleType type = ScaleType::f32;
  int64_t rows = 1;           // outputs that share a scale; 0: all
  int64_t inputs = 0;         // inputs that share a scale; 0: all
  int64_t first_row = 0;      // of the outputs, among those that share a scale
  int64_t listed_groups = 0;  // so many, and which of them an input is in is listed
  bool factor = false;
  bool factor_divides = false;  // scale / factor
  bool zeros = false;           // 4 bits each, plus `zero`; otherwise `zero`
  int32_t zero = 0;
  bool operator==(const RowScales&) const = default;
};

// Where each lies, in bytes from the end of the codes.
struct ScaleLayout {
  Range groups;
  int64_t zero_row_bytes = 0;
  int64_t scale_bytes = 0;
  int64_t scales = 0;
  int64_t factor = 0;
  int64_t listed = 0;
  int64_t bytes = 0;

  ScaleLayout() = default;
  // Of `outputs` rows of these inputs of the weight.
  ScaleLayout(const RowScales& kept, int64_t outputs, Range inputs);
  int64_t zero_at(int64_t output, int64_t group) const {
    return output * zero_row_bytes + (group - groups.begin) / 2;
  }
  int64_t scale_at(int64_t row, int64_t group) const {
    return scales + (row * groups.size() + group - groups.begin) * scale_bytes;
  }
};

inline constexpr int64_t most_sixteens = 16;

// What belongs to one output.
class ScaledRow {
 public:
  // `tables`: the first byte behind the codes. These and `kept` outlive it.
  ScaledRow(const RowScales& kept, const ScaleLayout& layout, const std::byte* tables,
            int64_t output, Range inputs);

  // Codes of inputs [first, first + count), as numbers, become what they stand for.
  void apply(int64_t first, int64_t count, float* values) const;
  // Whether 16 inputs from a multiple of 16 on share a scale, and those of `count` times 16 from
  // `first` on, a multiple of 16. count: at most most_sixteens.
  bool in_sixteens() const;
  void sixteens(int64_t first, int64_t count, float* zeros, float* scales) const;

 private:
  // An input of the last codes may lie beyond the row: it has the group of the row's last.
  int64_t group_of(int64_t input) const;
  // Of `count` groups from `group` on.
  void read_scales(int64_t group, int64_t count, float* scales) const;
  float zero(int64_t group) const;

  const RowScales* kept_;
  ScaleLayout layout_;
  const std::byte* tables_;
  int64_t output_;
  int64_t row_;  // of scales
  Range inputs_;
  float factor_ = 1.0f;
};

}  // namespace dure
