// The chunked transfer coding (RFC 9112 section 7.1), as bytes come. Strict: sizes are hexadecimal
// digits and nothing else, lines end with CR LF. Extensions and trailers are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dure {

class ChunkDecoder {
 public:
  enum class State { more, done, broken, too_large };

  explicit ChunkDecoder(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Takes what belongs to the coding off the front of `bytes` and appends the data to `body`.
  // Returns how many bytes it took: all of them, unless the body has ended or is wrong.
  size_t feed(std::string_view bytes, std::string& body);
  State state() const { return state_; }

 private:
  enum class Part { size, data, data_end, trailer };

  void take_line_byte(char byte);
  void end_line();

  const uint64_t most_bytes_;
  State state_ = State::more;
  Part part_ = Part::size;
  std::string line_;
  uint64_t left_ = 0;   // bytes of the chunk
  uint64_t total_ = 0;  // bytes of all chunks, this one included
  size_t trailer_bytes_ = 0;
};

}  // namespace dure
