// See reading.h.
#include "dialogue/reading.h"

#include <algorithm>

namespace dure::dialogue {
namespace {

constexpr size_t longest_name = 128;

bool is_name_byte(int byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.' || byte == ':' ||
         byte == '/' || byte >= 0x80;
}

}  // namespace

Parsing<bool> skip_space(Reading& r) {
  for (;;) {
    const int byte = co_await r.in.peek();
    if (byte == Source::end) co_return false;
    if (!is_space(byte)) co_return true;
    co_await r.in.take();
  }
}

Parsing<bool> take_literal(Reading& r, std::string_view text) {
  for (const char wanted : text) {
    const int byte = co_await r.in.peek();
    if (byte == Source::end) co_return true;
    if (byte != static_cast<unsigned char>(wanted)) co_return false;
    co_await r.in.take();
  }
  co_return true;
}

Parsing<int> take_one_of(Reading& r, std::span<const Marker> markers) {
  if (!co_await skip_space(r)) co_return answer_over;
  MarkerScan scan(markers);
  std::string other;
  for (;;) {
    const int byte = co_await r.in.peek();
    if (byte == Source::end) co_return answer_over;
    const int found = scan.feed(static_cast<char>(byte), other);
    if (!other.empty()) co_return none_of_them;
    co_await r.in.take();
    if (found >= 0) co_return found;
  }
}

Parsing<int> read_until(Reading& r, std::span<const Marker> markers, std::string& text) {
  MarkerScan scan(markers);
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) {
      text += scan.rest();
      co_return answer_over;
    }
    const int found = scan.feed(static_cast<char>(byte), text);
    if (found >= 0) co_return found;
  }
}

Parsing<int> arguments_until(Reading& r, std::span<const Marker> markers) {
  MarkerScan scan(markers);
  std::string text;
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) co_return answer_over;
    text.clear();
    const int found = scan.feed(static_cast<char>(byte), text);
    r.out.arguments(text);
    if (found >= 0) co_return found;
  }
}

Parsing<bool> read_name(Reading& r, std::string& name) {
  for (;;) {
    const int byte = co_await r.in.peek();
    if (!is_name_byte(byte)) co_return !name.empty() && name.size() <= longest_name;
    // Too long, but a character is taken as a whole: what follows may be shown.
    const bool begins_character = (byte & 0xC0) != 0x80;
    if (name.size() >= longest_name && begins_character) co_return false;
    name += static_cast<char>(byte);
    co_await r.in.take();
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name &&
         std::all_of(text.begin(), text.end(),
                     [](char byte) { return is_name_byte(static_cast<unsigned char>(byte)); });
}

}  // namespace dure::dialogue
