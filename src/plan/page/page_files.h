// The page's own text, from the files in this folder: made part of the program by
// cmake/embed_page.cmake.
#pragma once

#include <string_view>

namespace dure {

std::string_view page_html();    // with {{title}}, {{summary}}, {{style}}, {{plan}} and {{script}}
std::string_view page_style();   // all *.css
std::string_view page_script();  // all *.js, page.js last

}  // namespace dure
