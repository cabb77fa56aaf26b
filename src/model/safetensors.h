// The header of one safetensors file: [u64 length][JSON of that length][data]. Checked as hard as
// the format's own reader does, because everything after it trusts these offsets.
// Format: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as written: "BF16", "F8_E4M3", …
  std::vector<int64_t> shape;
  int64_t offset = 0;  // bytes from the start of the file
  int64_t bytes = 0;
};

inline constexpr int64_t most_header_bytes = 100'000'000;  // the format's own limit

// `head` is the file from its start, through the header at least; `file_bytes` its whole length.
// Throws bad_input naming `what` and the tensor. In order of offset.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view head, int64_t file_bytes,
                                                       const std::string& what);

// Reads the header of an open file.
std::vector<SafetensorsEntry> read_safetensors_header(int descriptor, const std::string& what);

}  // namespace dure
