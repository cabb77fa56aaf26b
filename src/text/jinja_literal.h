// The literals inside a tag: strings with Python's escapes, numbers, names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/jinja_value.h"

namespace dure::jinja {

// Bytes of the quoted string that `text` begins with, both quotes counted; 0 if it does not end.
size_t string_literal_length(std::string_view text);
// What stands between the quotes, escapes resolved; a syntax fault for a broken escape.
std::string decode_string_literal(std::string_view inside, int line);

struct NumberLiteral {
  size_t bytes = 0;  // 0: no number here
  Value value;
};
NumberLiteral number_literal(std::string_view text, bool float_allowed);

// Bytes of the name that `text` begins with, 0 if none.
size_t name_length(std::string_view text, int line);

}  // namespace dure::jinja
