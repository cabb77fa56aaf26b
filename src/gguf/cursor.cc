// See cursor.h.
#include "gguf/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace dure {
namespace {

constexpr int64_t window_bytes = int64_t{64} << 10;
// The largest vocabularies have some 600,000 merges and three lists of 260,000 tokens, in 20 MB.
constexpr int64_t most_entries = int64_t{2} << 20;
constexpr int64_t most_header_bytes = int64_t{48} << 20;

}  // namespace

void GgufCursor::fail(std::string_view problem) const {
  throw_bad_input(fmt::format("{}: {}", what_, problem),
                  "the file is damaged or was written by a broken tool: download it again");
}

void GgufCursor::take(int64_t bytes, void* to, std::string_view of) {
  if (bytes > end_ - position_) {
    throw_bad_input(fmt::format("{}: the file ends within {}", what_, of), "incomplete download?");
  }
  if (position_ + bytes > most_header_bytes) {
    fail(fmt::format("its header is longer than {} bytes", most_header_bytes));
  }
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const int64_t in_window = position_ - window_begin_;
    const int64_t left = static_cast<int64_t>(window_.size()) - in_window;
    if (left <= 0) {
      window_.resize(static_cast<size_t>(std::min(window_bytes, end_ - position_)));
      window_begin_ = position_;
      read_(position_, static_cast<int64_t>(window_.size()), window_.data());
      continue;
    }
    const int64_t now = std::min(bytes, left);
    std::memcpy(out, window_.data() + in_window, static_cast<size_t>(now));
    out += now;
    position_ += now;
    bytes -= now;
  }
}

uint64_t GgufCursor::unsigned_integer(int bytes, std::string_view of) {
  uint8_t raw[8] = {};
  take(bytes, raw, of);
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | raw[i];
  return value;
}

std::string GgufCursor::text(std::string_view of, uint64_t most_bytes) {
  const uint64_t length = unsigned_integer(8, of);
  if (length > most_bytes) fail(fmt::format("{}: a text of {} bytes", of, length));
  std::string text;
  if (static_cast<int64_t>(length) <= end_ - position_) text.resize(length);
  take(static_cast<int64_t>(length), text.data(), of);
  return text;
}

void GgufCursor::expect(uint64_t count, int64_t least_bytes, std::string_view of) {
  if (count > static_cast<uint64_t>((end_ - position_) / least_bytes)) {
    fail(fmt::format("{}: {} entries do not fit into the file", of, count));
  }
  counted_ += static_cast<int64_t>(count);
  if (counted_ > most_entries) {
    fail(fmt::format("{}: lists of more than {} entries in all", of, most_entries));
  }
}

}  // namespace dure
