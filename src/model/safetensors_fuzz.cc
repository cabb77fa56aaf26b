// The header of a safetensors file from hostile bytes: parsed or refused, never a crash, and what
// is accepted stays inside the file.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  // The parser takes the file through its header; a header that claims more is refused before.
  if (size < 8) return 0;
  try {
    int64_t end = 0;
    for (const auto& entry :
         dure::parse_safetensors_header(file, static_cast<int64_t>(size), "fuzz")) {
      DURE_CHECK(entry.offset >= 8 && entry.bytes >= 0 && entry.offset + entry.bytes >= end);
      end = entry.offset + entry.bytes;
    }
    DURE_CHECK(end == 0 || end == static_cast<int64_t>(size));
  } catch (const dure::Error&) {
  }
  return 0;
}
