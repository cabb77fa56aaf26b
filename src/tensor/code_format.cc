// See code_format.h.
#include "tensor/code_format.h"

#include <algorithm>

#include "base/error.h"

namespace dure {

int64_t code_bits(CodeFormat format) {
  DURE_CHECK(format != CodeFormat::none);
  return format == CodeFormat::q8 ? 8 : 4;
}

int32_t code_zero(CodeFormat format) {
  return format == CodeFormat::q8 ? 128 : 8;
}

int64_t code_step_bytes(CodeFormat format) {
  return code_step * 32 * code_bits(format) / 8;
}

std::string_view to_string(CodeFormat format) {
  switch (format) {
    case CodeFormat::none:
      return "none";
    case CodeFormat::q8:
      return "q8";
    case CodeFormat::q4:
      return "q4";
  }
  return "?";
}

std::optional<CodeFormat> find_code_format(std::string_view name) {
  for (const CodeFormat each : {CodeFormat::none, CodeFormat::q8, CodeFormat::q4}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

int64_t CodeGroups::padded_inputs() const {
  int64_t sum = 0;
  for (const int32_t count : inputs) sum += (count + code_step - 1) / code_step * code_step;
  return sum;
}

int64_t CodeGroups::panel_bytes(CodeFormat format) const {
  return padded_inputs() / code_step * code_step_bytes(format) +
         static_cast<int64_t>(inputs.size()) * code_scale_bytes;
}

CodeGroups code_groups(const std::vector<int64_t>& segments, int64_t first_input) {
  CodeGroups groups;
  int64_t at = first_input;
  for (const int64_t length : segments) {
    const int64_t end = at + length;
    int32_t count = 0;
    for (; at < end; ++count) {
      const int64_t next = std::min((at / code_group + 1) * code_group, end);
      groups.inputs.push_back(static_cast<int32_t>(next - at));
      at = next;
    }
    groups.of_segments.push_back(count);
  }
  return groups;
}

}  // namespace dure
