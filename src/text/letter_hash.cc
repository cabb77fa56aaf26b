// See letter_hash.h: digits of a hash in base 62.
#include "text/letter_hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace dure {
namespace {

uint64_t hash(std::string_view text) {  // FNV-1a, then the mixer of splitmix64
  uint64_t value = 0xcbf29ce484222325u;
  for (const char byte : text) {
    value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

std::string letter_hash(std::string_view text, size_t letters) {
  constexpr std::string_view alphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int per_hash = 8;  // 62^8 is well below 2^64
  std::string made;
  uint64_t value = 0;
  for (size_t i = 0; i < letters; ++i) {
    if (i % per_hash == 0) value = hash(fmt::format("{}/{}", text, i));
    made += alphabet[value % alphabet.size()];
    value /= alphabet.size();
  }
  return made;
}

}  // namespace dure
