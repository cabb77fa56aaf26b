// Scales of matrices that are kept as a checkpoint's small codes (BlockFormat::fp8 to int4), as
// quantization tools write them: number = (code - zero) * (scale * factor), each operation rounded
// to fp32. They lie behind the codes, numbers as small as in the checkpoint:
//   zero points  [groups][outputs / 2, rounded up] bytes, the first of two outputs in the low half
//   scales       [groups][rows of scales] of `type`
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
  int32_t zero = 0;             // of int4 alone
  bool operator==(const RowScales&) const = default;

  int64_t row_of(int64_t output) const { return rows == 0 ? 0 : (first_row + output) / rows; }
};

// Where each lies, in bytes from the end of the codes.
struct ScaleLayout {
  Range groups;
  int64_t zero_group_bytes = 0;
  int64_t scale_bytes = 0;
  int64_t scale_rows = 0;
  int64_t scales = 0;
  int64_t factor = 0;
  int64_t listed = 0;
  int64_t bytes = 0;

  ScaleLayout() = default;
  // Of `outputs` rows of these inputs of the weight.
  ScaleLayout(const RowScales& kept, int64_t outputs, Range inputs);
  int64_t zero_at(int64_t output, int64_t group) const {
    return (group - groups.begin) * zero_group_bytes + output / 2;
  }
  int64_t scale_at(int64_t row, int64_t group) const {
    return scales + ((group - groups.begin) * scale_rows + row) * scale_bytes;
  }
};

// What they are to the products of one matrix.
class ScaleReader {
 public:
  // `tables`: the first byte behind the codes. These and `kept` outlive it.
  ScaleReader(const RowScales& kept, const ScaleLayout& layout, const std::byte* tables,
              Range inputs);

  int64_t group_of(int64_t input) const;
  // The end of the run of inputs from `input` on that share a group.
  int64_t run_end(int64_t input) const;
  // Of outputs [first, first + count), at most 32, in one group.
  void read(int64_t group, int64_t first, int64_t count, float* zeros, float* scales) const;

 private:
  const RowScales* kept_;
  ScaleLayout layout_;
  const std::byte* tables_;
  Range inputs_;
  float factor_ = 1.0f;
};

}  // namespace dure
