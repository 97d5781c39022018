# Faster builds where the tools are there; nothing depends on them.
find_program(KW_CCACHE ccache)
if(KW_CCACHE)
  # Precompiled headers are cached only when ccache is told that their time stamps do not matter. The hash of the checkout's own path is
  # left out, so that a second clone is served from the first one's results.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${KW_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(KW_MOLD mold)
if(KW_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
