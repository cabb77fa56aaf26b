# cmake -DDIR=… -DSTYLES=a.css;b.css -DSCRIPTS=a.js;page.js -DOUT=….cc -P embed_page.cmake: the page's
# files as string literals.
function(joined out)
  set(text "")
  foreach(file IN LISTS ARGN)
    file(READ "${DIR}/${file}" content)
    if(content MATCHES "\\)page\"")
      message(FATAL_ERROR "${file}: has the mark that ends a literal")
    endif()
    string(APPEND text "${content}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
joined(html page.html)
joined(style ${STYLES})
joined(script ${SCRIPTS})
file(WRITE ${OUT} "// Made from the page's files by embed_page.cmake: do not edit.
#include \"plan/page/page_files.h\"

namespace dure {

std::string_view page_html() {
  return R\"page(${html})page\";
}

std::string_view page_style() {
  return R\"page(${style})page\";
}

std::string_view page_script() {
  return R\"page(${script})page\";
}

}  // namespace dure
")
