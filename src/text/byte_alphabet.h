// The 256 stand-in characters of byte-level models: printable Latin-1 stands for itself, every
// other byte for U+0100 and up, in order (GPT-2's table).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dure {

inline bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

// [stand-in below 0x144] its byte, or -1.
inline const std::array<int, 0x144>& byte_of_stand_in() {
  static const std::array<int, 0x144> table = [] {
    std::array<int, 0x144> made;
    made.fill(-1);
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte)
      made[stands_for_itself(byte) ? byte : next++] = static_cast<int>(byte);
    return made;
  }();
  return table;
}

// The bytes that a token written in stand-ins means; nothing if it holds any other character.
std::optional<std::string> bytes_of_stand_ins(std::string_view token);

}  // namespace dure
