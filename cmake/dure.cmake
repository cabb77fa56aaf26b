# One folder of src/ = one static library, its unit tests one program, its fuzzers one program each.
find_package(Threads REQUIRED)

add_library(dure_options INTERFACE)
target_include_directories(dure_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(dure_options INTERFACE -Wall -Wextra -Wpedantic -Werror=return-type
  -Wno-psabi -ffp-contract=off)
target_compile_definitions(dure_options INTERFACE DURE_VERSION="${PROJECT_VERSION}")
target_link_libraries(dure_options INTERFACE Threads::Threads)
if(DURE_SANITIZE OR DURE_FUZZ)
  # Undefined behaviour ends the program, as an overflow of memory does; the library's own
  # assertions catch an index that stays inside an allocation.
  target_compile_options(dure_options INTERFACE -O1 -g1 -fno-omit-frame-pointer
    -fsanitize=address,undefined -fno-sanitize-recover=undefined
    # Clang 14 cannot place that check's prologue before a coroutine.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_compile_definitions(dure_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(dure_options INTERFACE -fsanitize=address,undefined)
endif()
if(DURE_FUZZ)
  target_compile_options(dure_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What the sanitizers are told in tests. They would read the whole text again at each search in it,
# which is quadratic; and who called Open MPI is only known to the slow walk up the stack.
if(DURE_SANITIZE)
  set(dure_test_environment "ASAN_OPTIONS=intercept_memmem=0")
  set(dure_ranks_environment "ASAN_OPTIONS=intercept_memmem=0:fast_unwind_on_malloc=0"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/leaks.supp:print_suppressions=0")
endif()

add_custom_target(unit_tests)  # every <folder>_test, and comm's programs for mpirun
add_custom_target(benches)

# dure_library(<folder> [DEPS <target>...]): all foo.cc except foo_test.cc and foo_fuzz.cc.
function(dure_library folder)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
  file(GLOB_RECURSE mains CONFIGURE_DEPENDS ${dir}/*_main.cc)
  list(REMOVE_ITEM sources ${tests} ${fuzzers} ${mains})
  if(NOT sources)
    return()  # a folder of headers only, so far
  endif()
  add_library(dure_${folder} STATIC ${sources})
  target_link_libraries(dure_${folder} PUBLIC dure_options ${ARG_DEPS})
  if(DURE_TESTS AND tests)
    find_package(GTest REQUIRED)
    add_executable(${folder}_test ${tests})
    target_link_libraries(${folder}_test PRIVATE dure_${folder} ${ARG_TEST_DEPS} GTest::gmock_main)
    target_compile_definitions(${folder}_test PRIVATE DURE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_dependencies(unit_tests ${folder}_test)
    add_test(NAME ${folder}_test COMMAND ${folder}_test)
    set_tests_properties(${folder}_test PROPERTIES LABELS unit TIMEOUT 600
      ENVIRONMENT "${dure_test_environment}")
  endif()
  if(DURE_FUZZ)
    foreach(source ${fuzzers})
      get_filename_component(name ${source} NAME_WE)
      add_executable(${name} ${source})
      target_link_libraries(${name} PRIVATE dure_${folder})
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
