// UTF-8: reading and writing characters, and turning bytes that may not be valid into text by the
// "maximal subparts" practice of the Unicode Standard (3.9). Valid is as in RFC 3629: shortest
// forms, no surrogates, at most U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dure::utf8 {

inline constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// Offset of the first byte that is not part of a valid sequence; text.size() if all is valid.
size_t first_invalid(std::string_view text);

// Bytes of the sequence that starts with `lead`, in valid text.
inline size_t length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Reads one character of valid text and advances `p` past it.
inline char32_t next(const char*& p) {
  const auto byte = [&p](int i) { return static_cast<uint8_t>(p[i]); };
  const uint8_t lead = byte(0);
  char32_t code = lead;
  if (lead < 0x80) {
    p += 1;
  } else if (lead < 0xE0) {
    code = (lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
    p += 2;
  } else if (lead < 0xF0) {
    code = (lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    p += 3;
  } else {
    code =
        (lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    p += 4;
  }
  return code;
}

// Bytes of the character at the front; 0 where none is: it is not valid there, or empty.
size_t valid_length(std::string_view text);
// Takes that character off the front. False, and nothing changes, where there is none.
bool take(std::string_view& text, uint32_t& character);

std::u32string decode(std::string_view valid);
void append(std::string& out, char32_t code);

// Takes from the front of `bytes` what may be shown now and returns it as text, each maximal
// invalid part as one U+FFFD. What stays in `bytes` is the beginning of a character (at most 3
// bytes), or two bytes of an encoded surrogate, which are invalid but wait for their third.
std::string take_complete(std::string& bytes);

// All of `bytes` as text, each maximal invalid part as one U+FFFD.
std::string repaired(std::string_view bytes);

}  // namespace dure::utf8
