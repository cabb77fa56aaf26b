// What the other end of a stream is: colour and progress bars are for people at a terminal only.
#pragma once

#include <cstdio>
#include <string_view>

namespace dure {

bool is_terminal(std::FILE* stream);
bool uses_colour(std::FILE* stream);  // a terminal, and NO_COLOR is not set (https://no-color.org)
int terminal_columns(std::FILE* stream);  // 80 where unknown

// Columns that UTF-8 text takes on a terminal: 0 for combining marks, 2 for wide East Asian
// characters (wcwidth's rules for the blocks that model names and headings use).
int display_width(std::string_view utf8);

}  // namespace dure
