// The header of a GGUF file from hostile bytes: parsed or refused, never a crash, and what is
// accepted stays inside the file.
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "gguf/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file_bytes = static_cast<int64_t>(size);
  const auto read = [&](int64_t offset, int64_t bytes, void* to) {
    DURE_CHECK(offset >= 0 && bytes >= 0 && offset + bytes <= file_bytes);
    std::memcpy(to, data + offset, static_cast<size_t>(bytes));
  };
  try {
    const dure::GgufHeader header = dure::parse_gguf_header(read, file_bytes, "fuzz");
    int64_t end = header.data_begin;
    for (const dure::GgufTensor& tensor : header.tensors) {
      DURE_CHECK(tensor.offset >= end && tensor.bytes > 0);
      end = tensor.offset + tensor.bytes;
      DURE_CHECK(end <= file_bytes && tensor.shape.size() <= 4);
    }
  } catch (const dure::Error&) {
  }
  return 0;
}
