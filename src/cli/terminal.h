// What the other end of a stream is: colour and progress bars are for people at a terminal only.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace dure {

bool is_terminal(std::FILE* stream);
bool uses_colour(std::FILE* stream);  // a terminal, and NO_COLOR is not set (https://no-color.org)
int terminal_columns(std::FILE* stream);  // 80 where unknown

// Writes the text at once, or not: a log that cannot be written (a full disk, a reader that went)
// must not end a server, as fmt::print's exception would.
void say(std::FILE* stream, std::string_view text);

// The text in one line that a terminal only shows: control characters, which names in files of
// others may hold, as \n or \x1b.
std::string visible(std::string_view utf8);

// Columns that UTF-8 text takes on a terminal: 0 for combining marks, 2 for wide East Asian
// characters (wcwidth's rules for the blocks that model names and headings use).
int display_width(std::string_view utf8);

}  // namespace dure
