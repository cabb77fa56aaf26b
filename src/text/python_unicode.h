// Text as Python's str sees it: UTF-8 in memory, code points in indices, Python's character classes
// and case rules. All functions expect valid UTF-8; on anything else they stay in bounds and take
// the byte as a character of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

// The code point at text[at] and how many bytes it has (at least 1). `at` must be in bounds.
struct CodePoint {
  uint32_t code;
  size_t bytes;
};
CodePoint code_point_at(std::string_view text, size_t at);
size_t count_code_points(std::string_view text);
// The byte offset of the code point with this index; text.size() when there are fewer.
size_t byte_offset(std::string_view text, size_t index);
bool is_valid_utf8(std::string_view text);

// As std::string_view::find, in linear time whatever the texts.
size_t find_text(std::string_view text, std::string_view wanted, size_t from = 0);

bool py_is_space(uint32_t code);
bool py_is_printable(uint32_t code);
bool py_is_alpha(uint32_t code);
bool py_is_decimal(uint32_t code);
bool py_is_digit(uint32_t code);
bool py_is_numeric(uint32_t code);
bool py_is_alnum(uint32_t code);
bool py_is_lower(uint32_t code);
bool py_is_upper(uint32_t code);
bool py_is_title(uint32_t code);
bool py_is_line_break(uint32_t code);

std::string py_upper(std::string_view text);
std::string py_lower(std::string_view text);
std::string py_title(std::string_view text);
std::string py_capitalize(std::string_view text);
std::string py_swapcase(std::string_view text);
std::string py_casefold(std::string_view text);  // lower case, and ß as ss
// Whether there are cased characters and every one is upper (lower) case.
bool py_all_upper(std::string_view text);
bool py_all_lower(std::string_view text);

// Which ends a strip works on.
enum class Side { both, left, right };
// Without `chars` (null data) white space goes; otherwise any of its characters.
std::string_view py_strip(std::string_view text, Side side,
                          const std::string_view* chars = nullptr);

// As str.splitlines: \n \r \r\n \v \f \x1c-\x1e \x85 U+2028 U+2029 end a line.
std::vector<std::string_view> py_splitlines(std::string_view text, bool keep_ends = false);

std::string py_repr(std::string_view text);         // quotes and escapes as repr(str)
std::string py_repr_bytes(std::string_view bytes);  // b'...'
std::string py_repr(double value);                  // shortest text that reads back, "1e+22", "nan"

}  // namespace dure
