// The lines of a file of JSON lines.
#pragma once

#include <algorithm>
#include <string_view>

namespace dure::load {

// Calls use(line, number) for each line that is not blank; numbers begin at 1.
template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) use(line, number);
  }
}

}  // namespace dure::load
