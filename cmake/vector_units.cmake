# Vector units that the hot loops are compiled for, besides the portable form; the program chooses at run time.
#   all: every unit of this processor's kind, for programs that are carried elsewhere and for the tests
#   native: the best unit of this machine alone; compiling the others takes a fifth of a build's time
set(KW_VECTOR_UNITS all CACHE STRING "all, or native: only the best unit of this machine")
set(KW_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(KW_AVX512_FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
set(KW_UNITS "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(KW_UNITS avx2 avx512)
  if(KW_VECTOR_UNITS STREQUAL "native" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    string(REGEX MATCHALL " (avx2|fma|f16c|avx512f|avx512bw|avx512dq|avx512vl)" found "${flags} ")
    list(LENGTH found count)
    if(count EQUAL 7)
      set(KW_UNITS avx512)
    elseif(" avx2" IN_LIST found AND " fma" IN_LIST found AND " f16c" IN_LIST found)
      set(KW_UNITS avx2)
    else()
      set(KW_UNITS "")
    endif()
  endif()
endif()
list(TRANSFORM KW_UNITS TOUPPER OUTPUT_VARIABLE upper_units)
list(TRANSFORM upper_units PREPEND KW_HAS_ OUTPUT_VARIABLE KW_UNIT_DEFINITIONS) # KW_HAS_AVX2, KW_HAS_AVX512
