// Weights that are resident as integer codes with scales: weight = scale * (code - zero). Inputs
// are cut into groups, at multiples of 32 counted from the weight's first input and at the
// segments of the fixed summation tree (packed_shape.h), so that a group is the same in every
// layout that keeps those segments. A group of one panel (32 outputs) lies together:
//   [inputs / 4, rounded up][32 outputs][4 codes of the format's bits]  [32 scales] fp16
// Codes of 4 bits: byte 4 * i + j of the 64 of four inputs holds output i, input j in its low half,
// and output 16 + i, input j in its high half.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dure {

enum class CodeFormat {
  none,  // elements of a DType
  q8,    // 8 bits, zero 128
  q4,    // 4 bits, zero 8
};
inline constexpr int code_formats = 3;

inline constexpr int64_t code_group = 32;  // inputs, at most
inline constexpr int64_t code_step = 4;    // inputs whose codes lie together

// Not for CodeFormat::none.
int64_t code_bits(CodeFormat format);
int32_t code_zero(CodeFormat format);
int64_t code_step_bytes(CodeFormat format);      // of four inputs and 32 outputs
inline constexpr int64_t code_scale_bytes = 64;  // of a group of 32 outputs

std::string_view to_string(CodeFormat format);  // "q8"
// By the names that --quantize takes, "none" too.
std::optional<CodeFormat> find_code_format(std::string_view name);

struct CodeGroups {
  std::vector<int32_t> inputs;       // of each group, 1 .. 32
  std::vector<int32_t> of_segments;  // groups of each segment

  int64_t padded_inputs() const;  // each group rounded up to whole steps
  int64_t panel_bytes(CodeFormat format) const;
};

// Of segments that lie one after another from `first_input` of the weight on.
CodeGroups code_groups(const std::vector<int64_t>& segments, int64_t first_input);

}  // namespace dure
