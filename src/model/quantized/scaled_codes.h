// A matrix that a safetensors checkpoint holds as small codes in one tensor and their scales in
// others, as quantization tools write it: number = (code - zero) * scale * factor, exactly, in
// fp32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/checkpoint.h"
#include "tensor/block_rows.h"

namespace dure {

struct ScaledCodes {
  enum class Codes {
    fp8,          // [outputs, inputs] E4M3
    int8,         // [outputs, inputs]
    e2m1,         // [outputs, inputs / 2]: neighbours in one byte, the first in the low half
    int4,         // [outputs, inputs / 8] words: eight neighbours, the first lowest
    int4_turned,  // [inputs / 8, outputs] words (GPTQ)
    int4_mixed,   // [inputs, outputs / 8] words, outputs in the order 0 2 4 6 1 3 5 7 (AWQ)
  };

  Codes codes = Codes::fp8;
  int64_t outputs = 0;  // of stacked matrices those of all
  int64_t inputs = 0;
  StoredTensor tensor = {};  // the codes

  StoredTensor scales = {};
  ScaleType scale_type = ScaleType::f32;
  int64_t scale_rows = 1;          // outputs that share a scale; 0: all
  int64_t scale_inputs = 0;        // inputs that share a scale; 0: all
  bool scales_are_turned = false;  // [groups, outputs] in place of [outputs, groups]
  // One fp32 number that multiplies all scales, or divides them.
  std::optional<StoredTensor> factor = {};
  bool factor_divides = false;

  // Words of eight zero points, plus `zero_plus`: of neighbouring outputs of a group, [groups,
  // outputs / 8] in the codes' own order (GPTQ, AWQ), or [outputs / 8, groups]. Otherwise `zero`.
  std::optional<StoredTensor> zeros = {};
  int32_t zero_plus = 0;
  int32_t zero = 0;
  // [inputs] int32: the group of each, where groups are not runs of scale_inputs.
  std::optional<StoredTensor> group_of_input = {};

  int64_t groups() const {
    return scale_inputs == 0 ? 1 : (inputs + scale_inputs - 1) / scale_inputs;
  }
};

int64_t stored_bytes(const ScaledCodes& matrix);  // of all that belongs to it

// How its codes and scales are kept in memory, as small as in the file.
BlockFormat kept_codes(const ScaledCodes& matrix);
RowScales kept_scales(const ScaledCodes& matrix);

// Rows on their way into memory.
struct KeptRows {
  const BlockRows& rows;  // of kept_codes; scales may be of every output where the file's are not
  Range inputs;           // of the matrix
  std::byte* memory = nullptr;  // rows.bytes(inputs), which hold zeros
};

// Copies outputs `outputs` of the matrix to those of `to` from `first` on. Reads no more of the
// files than it takes. Throws what CheckpointReader::read does, and bad_input for numbers of groups
// that there are not.
void keep_rows(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range outputs,
               int64_t first, const KeptRows& to);

// Numbers [rows, columns] of a rectangle. Throws the same.
void read_rectangle(const CheckpointReader& checkpoint, const ScaledCodes& matrix, Range rows,
                    Range columns, float* to);

}  // namespace dure
