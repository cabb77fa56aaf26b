// See wire.h.
#include "protocol/wire.h"

#include <fmt/format.h>

#include <limits>

namespace dure {

void Writer::count(const char* field, size_t n) {
  if (n > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorCode::failed,
                fmt::format("{}: {} items are too many for one message", field, n));
  }
  const auto wide = static_cast<uint32_t>(n);
  raw(&wide, sizeof wide);
}

void Reader::need(const char* field, size_t size) const {
  if (bytes_.size() >= size) return;
  throw Error(ErrorCode::failed,
              fmt::format("message {} is cut short in field {}: needs {} bytes, {} left", message_,
                          field, size, bytes_.size()));
}

size_t Reader::count(const char* field, size_t item_bytes) {
  uint32_t n = 0;
  (*this)(field, n);
  need(field, size_t{n} * item_bytes);
  return n;
}

uint8_t Reader::byte_up_to(const char* field, uint8_t last) {
  uint8_t value = 0;
  (*this)(field, value);
  if (value > last) {
    throw Error(ErrorCode::failed,
                fmt::format("message {}: field {} is {}, above {}", message_, field, value, last));
  }
  return value;
}

void Reader::constant(const char* field, uint32_t expected) {
  uint32_t value = 0;
  (*this)(field, value);
  if (value != expected) {
    throw Error(
        ErrorCode::failed,
        fmt::format("message {}: {} is {}, this program's is {}", message_, field, value, expected),
        "install the same version of dure and dure-rank on every host");
  }
}

void Reader::expect_end() const {
  if (bytes_.empty()) return;
  throw Error(ErrorCode::failed,
              fmt::format("message {} has {} bytes after its last field", message_, bytes_.size()));
}

}  // namespace dure
