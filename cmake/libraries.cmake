# Third-party libraries, each as one target that says how we use it. Linked statically where the distribution has the archive, so that
# the program also runs on a machine that lacks the packages.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)

function(kw_static_library name)
  cmake_parse_arguments(arg "" "" "NAMES;LINK" ${ARGN})
  find_library(KW_LIBRARY_${name} NAMES ${arg_NAMES} REQUIRED)
  add_library(kw_${name} INTERFACE)
  target_link_libraries(kw_${name} INTERFACE "${KW_LIBRARY_${name}}" ${arg_LINK})
  add_library(kw::${name} ALIAS kw_${name})
endfunction()

find_package(Threads REQUIRED)
kw_static_library(yaml NAMES yaml-cpp)
kw_static_library(seccomp NAMES seccomp)
kw_static_library(crypto NAMES crypto LINK Threads::Threads ${CMAKE_DL_LIBS})
kw_static_library(ssl NAMES ssl LINK kw::crypto)
kw_static_library(xxhash NAMES xxhash)
kw_static_library(pcre2 NAMES pcre2-8)
kw_static_library(utf8proc NAMES utf8proc)
target_compile_definitions(kw_utf8proc INTERFACE UTF8PROC_STATIC)
kw_static_library(sqlite NAMES sqlite3 LINK Threads::Threads ${CMAKE_DL_LIBS} m)
kw_static_library(archive NAMES archive)
# We write and read tar alone. Its writer's object file names every other format, whose libraries (libxml2, nettle, lzma) we do not link:
# those functions are nobody's, and the linker must drop them before it misses what they call.
target_link_options(kw_archive INTERFACE -Wl,--gc-sections)
kw_static_library(gtest NAMES gtest LINK Threads::Threads)
kw_static_library(gmock NAMES gmock LINK kw::gtest)
kw_static_library(gtest_main NAMES gtest_main LINK kw::gmock)
kw_static_library(benchmark NAMES benchmark LINK Threads::Threads)

# Header-only here, so no shared library has to travel along.
add_library(kw_spdlog INTERFACE)
target_compile_definitions(kw_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
add_library(kw::spdlog ALIAS kw_spdlog)

add_library(kw_tree_sitter INTERFACE)
target_include_directories(kw_tree_sitter SYSTEM INTERFACE "${KW_DEPS_REAL}/tree-sitter/include")
target_link_libraries(kw_tree_sitter INTERFACE "${KW_DEPS_REAL}/tree-sitter/lib/libtree-sitter-cuda.a")
add_library(kw::tree_sitter ALIAS kw_tree_sitter)

# CUDA headers and NVRTC come with the torch wheel's packages; NVRTC itself is loaded at run time.
file(REAL_PATH "${KW_DEPS_REAL}/site-packages" KW_SITE_PACKAGES)
set(KW_CUDA_ROOT "${KW_SITE_PACKAGES}/nvidia/cu13")
add_library(kw_cuda_headers INTERFACE)
target_include_directories(kw_cuda_headers SYSTEM INTERFACE "${KW_CUDA_ROOT}/include")
add_library(kw::cuda_headers ALIAS kw_cuda_headers)

if(KW_TORCH)
  set(KW_TORCH_ROOT "${KW_SITE_PACKAGES}/torch")
  add_library(kw_torch INTERFACE)
  target_include_directories(kw_torch SYSTEM INTERFACE
    "${KW_TORCH_ROOT}/include" "${KW_TORCH_ROOT}/include/torch/csrc/api/include")
  target_link_libraries(kw_torch INTERFACE "${KW_TORCH_ROOT}/lib/libtorch_cpu.so" "${KW_TORCH_ROOT}/lib/libc10.so")
  add_library(kw::torch ALIAS kw_torch)
endif()
