// What stands before the data of one GGUF file: named values and the list of tensors. Checked as
// hard as a safetensors header, because everything after it trusts these offsets.
// Format: https://github.com/ggml-org/ggml, docs/gguf.md; versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gguf/metadata.h"
#include "tensor/block_format.h"
#include "tensor/dtype.h"

namespace dure {

struct GgufTensor {
  std::string name;
  // Outermost dimension first, as safetensors has it (the file has it last).
  std::vector<int64_t> shape;
  std::variant<DType, BlockFormat> type = DType::f32;
  int64_t offset = 0;  // bytes from the start of the file
  int64_t bytes = 0;
};

struct GgufHeader {
  int version = 0;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // in order of offset
  int64_t data_begin = 0;
  bool another_file_follows = false;  // behind the last tensor: files were joined
};

// Gives bytes [offset, offset + bytes) of the file, which has them.
using ReadBytes = std::function<void(int64_t offset, int64_t bytes, void* to)>;

// Throws bad_input naming `what` and the key or tensor: for another format or version, sizes that
// leave the file, more than four dimensions, names that occur twice, types that are not known,
// tensors that overlap. Reads the header only, in small pieces.
GgufHeader parse_gguf_header(const ReadBytes& read, int64_t file_bytes, const std::string& what);
GgufHeader read_gguf_header(int descriptor, const std::string& what);

}  // namespace dure
