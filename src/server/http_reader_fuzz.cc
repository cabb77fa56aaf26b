// Bytes of a connection through the reader that cuts them into requests: read or refused, and alike
// however they were cut.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "server/http_reader.h"

namespace {

std::string read_as(std::string_view bytes, size_t piece) {
  dure::RequestReader reader({.max_header_bytes = 4096, .max_body_bytes = 8192});
  std::string said;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (reader.state() == dure::RequestReader::State::whole) {
      const dure::ReadRequest read = reader.take();
      DURE_CHECK(read.request.body.size() <= 8192 && !read.request.id.empty());
      said += read.request.method + " " + read.request.path + " " + read.request.body + "\n";
    }
    DURE_CHECK(reader.bytes_held() <= 4096 + 8192 + piece);
  }
  if (reader.state() == dure::RequestReader::State::refused) {
    said += std::to_string(reader.refusal().status);
    dure::error_response(reader.refusal());
  }
  return said;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_as(bytes, bytes.size());
  DURE_CHECK(read_as(bytes, 1 + data[0] % 32) == whole);
  return 0;
}
