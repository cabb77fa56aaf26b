// A stream cut anywhere gives the same frames, or the same refusal, as the stream in one piece.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "protocol/frame_socket.h"

namespace {

struct Result {
  std::vector<dure::Frame> frames;
  bool refused = false;
  bool operator==(const Result&) const = default;
};

Result read(std::span<const std::byte> stream, size_t piece) {
  Result result;
  dure::FrameReader reader(1000);
  try {
    for (; !stream.empty(); stream = stream.subspan(std::min(piece, stream.size()))) {
      reader.feed(stream.first(std::min(piece, stream.size())));
      while (auto frame = reader.next()) result.frames.push_back(std::move(*frame));
    }
  } catch (const dure::Error&) {
    result.refused = true;
    while (auto frame = reader.next()) result.frames.push_back(std::move(*frame));
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto stream = std::as_bytes(std::span(data + 1, size - 1));
  if (read(stream, 1 + data[0]) != read(stream, size)) std::abort();
  return 0;
}
