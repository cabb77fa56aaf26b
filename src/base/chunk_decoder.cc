// See chunk_decoder.h.
#include "base/chunk_decoder.h"

#include <algorithm>

namespace dure {
namespace {

constexpr size_t max_line_bytes = 1024;     // a chunk's size with its extensions; one trailer
constexpr size_t max_trailer_bytes = 8192;  // all of them
constexpr size_t max_size_digits = 16;

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

// "1a" or "1a;name=value"; false if it is neither.
bool read_size(std::string_view line, uint64_t& size) {
  size_t digits = 0;
  size = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    if (digits == max_size_digits) return false;
    size = size * 16 + static_cast<uint64_t>(hex_digit(line[digits]));
  }
  return digits > 0 && (digits == line.size() || line[digits] == ';');
}

}  // namespace

size_t ChunkDecoder::feed(std::string_view bytes, std::string& body) {
  size_t at = 0;
  while (at < bytes.size() && state_ == State::more) {
    if (part_ != Part::data) {
      take_line_byte(bytes[at++]);
      continue;
    }
    const size_t taken = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - at));
    body.append(bytes.substr(at, taken));
    at += taken;
    left_ -= taken;
    if (left_ == 0) part_ = Part::data_end;
  }
  return at;
}

void ChunkDecoder::take_line_byte(char byte) {
  const bool after_cr = !line_.empty() && line_.back() == '\r';
  const auto code = static_cast<unsigned char>(byte);
  const bool control =
      (code < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') || code == 0x7F;
  if (after_cr != (byte == '\n') || control || line_.size() > max_line_bytes) {
    state_ = State::broken;
    return;
  }
  if (!after_cr) {
    line_ += byte;
    return;
  }
  line_.pop_back();
  end_line();
  line_.clear();
}

void ChunkDecoder::end_line() {
  if (part_ == Part::data_end) {
    if (!line_.empty()) state_ = State::broken;
    part_ = Part::size;
  } else if (part_ == Part::trailer) {
    if (line_.empty()) state_ = State::done;
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > max_trailer_bytes) state_ = State::broken;
  } else if (!read_size(line_, left_)) {
    state_ = State::broken;
  } else if (left_ > most_bytes_ - total_) {
    state_ = State::too_large;
  } else {
    total_ += left_;
    part_ = left_ == 0 ? Part::trailer : Part::data;
  }
}

}  // namespace dure
