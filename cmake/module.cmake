# Files of a module are compiled in groups (cmake/unity_groups.py), which read their headers once. For work on single files the preset
# `dev` has them one by one.
option(KW_UNITY "Compile the files of a module in groups" ON)
if(KW_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/cmake/unity_groups.py" "${CMAKE_SOURCE_DIR}"
    "${CMAKE_BINARY_DIR}/unity_groups.cmake" COMMAND_ERROR_IS_FATAL ANY)
  include("${CMAKE_BINARY_DIR}/unity_groups.cmake")
endif()

# kw_in_groups(TARGET SOURCES...): of this folder or, as absolute paths, of others.
function(kw_in_groups target)
  if(NOT KW_UNITY)
    return()
  endif()
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    if(DEFINED "KW_UNITY_${path}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${KW_UNITY_${path}}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# kw_module(NAME USES other modules and libraries): one library for a folder of src/, naming what it may use. Every x.cpp of the folder
# is part of it, every x_test.cpp is part of the test program NAME_test, every x_fuzz.cpp is a libFuzzer program. COLD: its speed does not
# matter, so it is compiled with -O1.
set(KW_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND KW_WARNINGS -Wno-restrict) # GCC 12 is wrong about `"text" + string` (its bug 105329)
endif()

function(kw_target_defaults target)
  target_compile_options(${target} PRIVATE ${KW_WARNINGS})
  # __FILE__ without the checkout's place: shorter messages, and another clone is served by the compiler cache.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
  if(KW_UNITY) # a name of one file is not hidden by a local one of another
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src")
endfunction()

# For tests and benchmarks that read the checkout's files: KW_SOURCE_ROOT.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/source_root.cpp"
  CONTENT "extern const char* const kw_source_root;\nconst char* const kw_source_root = \"${CMAKE_SOURCE_DIR}\";\n")
function(kw_knows_checkout target)
  target_sources(${target} PRIVATE "${CMAKE_BINARY_DIR}/source_root.cpp")
  set_source_files_properties("${CMAKE_BINARY_DIR}/source_root.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_compile_options(${target} PRIVATE -include "${CMAKE_SOURCE_DIR}/cmake/source_root.h")
endfunction()

# For tests of what needs a GPU: KW_EMULATED_DRIVER, a driver that is none (src/kernel/emulated_driver). Workers load it, so where they
# are another build's it is that build's, too.
function(kw_knows_emulated_driver target)
  if(KW_WORKER_PROGRAM)
    cmake_path(REPLACE_FILENAME KW_WORKER_PROGRAM libkernelwright_emulated_driver.so OUTPUT_VARIABLE driver)
  else()
    add_dependencies(${target} kernelwright_emulated_driver)
    set(driver "$<TARGET_FILE:kernelwright_emulated_driver>")
  endif()
  target_compile_definitions(${target} PRIVATE KW_EMULATED_DRIVER="${driver}")
endfunction()

# The same for ranks on GPUs: KW_EMULATED_NCCL (src/model/distributed/emulated_nccl). Threads of the test itself load it.
function(kw_knows_emulated_nccl target)
  add_dependencies(${target} kernelwright_emulated_nccl)
  target_compile_definitions(${target} PRIVATE KW_EMULATED_NCCL="$<TARGET_FILE:kernelwright_emulated_nccl>")
endfunction()

# SLOW_PARTS: suites of slow tests that are tests of their own, NAME=FILTER, so that several cores work on a long program.
function(kw_add_tests module)
  cmake_parse_arguments(arg "" "" "USES;SOURCES;SLOW_PARTS" ${ARGN})
  add_executable(${module}_test ${arg_SOURCES})
  kw_in_groups(${module}_test ${arg_SOURCES})
  kw_target_defaults(${module}_test)
  target_compile_options(${module}_test PRIVATE -O1) # the modules are optimised; tests only call them, and build faster so
  target_link_libraries(${module}_test PRIVATE ${arg_USES} kw::gtest_main)
  kw_knows_checkout(${module}_test)
  # Names ending in Slow are left to `make test`; `make test-fast` runs the rest.
  add_test(NAME ${module}.fast COMMAND ${module}_test --gtest_filter=-*Slow*)
  set(rest "*Slow*")
  set(separator "-")
  set(slow_tests ${module}.slow)
  foreach(part ${arg_SLOW_PARTS})
    string(REGEX MATCH "^([^=]+)=(.+)$" matched "${part}")
    set(filter "${CMAKE_MATCH_2}")
    add_test(NAME ${CMAKE_MATCH_1}.slow COMMAND ${module}_test --gtest_filter=${filter})
    list(APPEND slow_tests ${CMAKE_MATCH_1}.slow)
    string(APPEND rest "${separator}${filter}")
    set(separator ":")
  endforeach()
  add_test(NAME ${module}.slow COMMAND ${module}_test --gtest_filter=${rest})
  # For what never ends; how long a test takes is the machine's business.
  set_tests_properties(${module}.fast PROPERTIES LABELS fast TIMEOUT 3600)
  # Slow ones begin first, so that none is left over for one core at the end.
  set_tests_properties(${slow_tests} PROPERTIES LABELS slow TIMEOUT 14400 COST 10)
endfunction()

function(kw_module name)
  cmake_parse_arguments(arg "TESTS_NEED_TORCH;COLD" "" "USES;TEST_USES;SLOW_PARTS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cpp$")

  if(NOT sources)
    add_library(kw_${name} INTERFACE)
    add_library(kw::${name} ALIAS kw_${name})
    return()
  endif()
  add_library(kw_${name} STATIC ${sources})
  kw_in_groups(kw_${name} ${sources})
  add_library(kw::${name} ALIAS kw_${name})
  kw_target_defaults(kw_${name})
  target_link_libraries(kw_${name} PUBLIC ${arg_USES})
  if(arg_COLD)
    target_compile_options(kw_${name} PRIVATE -O1)
  endif()

  if(tests AND (KW_TORCH OR KW_WORKER_PROGRAM OR NOT arg_TESTS_NEED_TORCH)) # libtorch is loaded by workers alone
    kw_add_tests(${name} SOURCES ${tests} USES kw::${name} ${arg_TEST_USES} SLOW_PARTS ${arg_SLOW_PARTS})
  endif()
  if(KW_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(target ${fuzzer} NAME_WE)
      add_executable(${target} ${fuzzer})
      kw_target_defaults(${target})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${target} PRIVATE kw::${name})
    endforeach()
  endif()
endfunction()
