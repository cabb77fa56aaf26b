// UTF-8 validation and repair by the table of well-formed sequences (Unicode Standard, table 3-7).
#include "base/utf8.h"

namespace dure::utf8 {
namespace {

enum class Part { complete, invalid, unfinished };
struct Read {
  Part part;
  size_t size;  // bytes of the character, or of the maximal invalid part
};

// Looks at the sequence at the front of `text`, which is not empty.
Read read(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {Part::complete, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Part::invalid, 1};
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {Part::unfinished, i};
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
    if (i == 1) {  // no overlong forms, no surrogates, nothing above U+10FFFF
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    if (byte(i) < low || byte(i) > high) return {Part::invalid, i};
  }
  return {Part::complete, size};
}

}  // namespace

size_t first_invalid(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Read character = read(text.substr(i));
    if (character.part != Part::complete) return i;
    i += character.size;
  }
  return i;
}

size_t valid_length(std::string_view text) {
  if (text.empty()) return 0;
  const Read character = read(text);
  return character.part == Part::complete ? character.size : 0;
}

bool take(std::string_view& text, uint32_t& character) {
  const size_t length = valid_length(text);
  if (length == 0) return false;
  const char* at = text.data();
  character = next(at);
  text.remove_prefix(length);
  return true;
}

std::u32string decode(std::string_view valid) {
  std::u32string out;
  out.reserve(valid.size());
  for (const char* p = valid.data(); p != valid.data() + valid.size();) out.push_back(next(p));
  return out;
}

void append(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

namespace {

// The two bytes of half a surrogate pair can no longer become a character, but a third byte that
// belongs to them may follow.
bool is_half_surrogate(std::string_view text) {
  return text.size() == 2 && static_cast<uint8_t>(text[0]) == 0xED &&
         static_cast<uint8_t>(text[1]) >= 0xA0 && static_cast<uint8_t>(text[1]) <= 0xBF;
}

}  // namespace

std::string take_complete(std::string& bytes) {
  std::string text;
  std::string_view rest = bytes;
  while (!rest.empty() && !is_half_surrogate(rest)) {
    const Read character = read(rest);
    if (character.part == Part::unfinished) break;
    text += character.part == Part::complete ? rest.substr(0, character.size) : replacement;
    rest.remove_prefix(character.size);
  }
  bytes.erase(0, bytes.size() - rest.size());
  return text;
}

std::string repaired(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Read character = read(bytes);
    text += character.part == Part::complete ? bytes.substr(0, character.size) : replacement;
    bytes.remove_prefix(character.size);
  }
  return text;
}

}  // namespace dure::utf8
