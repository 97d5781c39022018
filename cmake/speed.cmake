# Faster builds where the tools are there; nothing depends on them.
find_program(KW_CCACHE ccache)
if(KW_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${KW_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${KW_CCACHE}")
endif()

find_program(KW_MOLD mold)
if(KW_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
