// Any bytes either decode to a message that encodes to the same bytes, or are refused by Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "protocol/messages.h"

namespace {

template <typename Decode>
void round_trip(Decode decode, std::span<const std::byte> body) {
  try {
    const std::string frame = dure::encode(decode(body));
    if (frame.size() != body.size() + sizeof(uint32_t)) std::abort();
    if (std::memcmp(frame.data() + sizeof(uint32_t), body.data(), body.size()) != 0) std::abort();
  } catch (const dure::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto body = std::as_bytes(std::span(data, size));
  round_trip(dure::decode_to_ranks, body);
  round_trip(dure::decode_from_ranks, body);
  return 0;
}
