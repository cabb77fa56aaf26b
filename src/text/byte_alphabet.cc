// Tokens of byte-level models back to bytes.
#include "text/byte_alphabet.h"

#include "base/utf8.h"

namespace dure {

std::optional<std::string> bytes_of_stand_ins(std::string_view token) {
  const auto& table = byte_of_stand_in();
  std::string bytes;
  for (const char* p = token.data(); p != token.data() + token.size();) {
    const char32_t code = utf8::next(p);
    if (code >= table.size() || table[code] < 0) return {};
    bytes.push_back(static_cast<char>(table[code]));
  }
  return bytes;
}

}  // namespace dure
