# cmake -DROOT=… -DLIST=presets.txt -DOUT=….cc -P embed_presets.cmake: the presets' configs as string literals.
file(STRINGS ${LIST} lines REGEX "^[^#]")
set(entries "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([^ ]+) +([^ ]+)$" matched "${line}")
  if(NOT matched)
    message(FATAL_ERROR "${LIST}: not NAME and FILE: ${line}")
  endif()
  set(name "${CMAKE_MATCH_1}")
  file(READ "${ROOT}/${CMAKE_MATCH_2}" config)
  string(APPEND entries "    {\"${name}\", R\"config(${config})config\"},\n")
endforeach()
file(WRITE ${OUT} "// Made from presets.txt by embed_presets.cmake: do not edit.
#include \"model/presets.h\"

namespace dure {
namespace {

constexpr Preset embedded[] = {
${entries}};

}  // namespace

std::span<const Preset> presets() {
  return embedded;
}

}  // namespace dure
")
