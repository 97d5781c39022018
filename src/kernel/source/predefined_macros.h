#pragma once
// The macros that a launcher finds defined.

#include <string_view>

namespace kw {

// What the host compiler knows before the first line. __CUDA_ARCH__ is not among them: it is the device's.
inline constexpr std::string_view predefined_text = R"(
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define __cplusplus 201703L
#define __linux__ 1
#define __x86_64__ 1
#define __GNUC__ 12
#define __STDC_HOSTED__ 1
#define __LP64__ 1
#define NULL nullptr
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN (-128)
#define CHAR_MAX 127
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-9223372036854775807L - 1L)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL - 1LL)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#define SSIZE_MAX LONG_MAX
#define LONG_BIT 64
#define WORD_BIT 32
#define INT8_MIN (-128)
#define INT16_MIN (-32767 - 1)
#define INT8_MAX (127)
#define INT16_MAX (32767)
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX (2147483647)
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_MAX (9223372036854775807L)
#define UINT8_MAX (255)
#define UINT16_MAX (65535)
#define UINT32_MAX (4294967295U)
#define UINT64_MAX (18446744073709551615UL)
#define SIZE_MAX (18446744073709551615UL)
#define PTRDIFF_MAX (9223372036854775807L)
#define INTPTR_MAX (9223372036854775807L)
#define UINTPTR_MAX (18446744073709551615UL)
#define INT32_C(c) c
#define UINT32_C(c) c##U
#define INT64_C(c) c##L
#define UINT64_C(c) c##UL
#define __CHAR_BIT__ 8
#define __INT_MAX__ 0x7fffffff
#define __LONG_MAX__ 0x7fffffffffffffffL
#define __SIZEOF_INT__ 4
#define __SIZEOF_LONG__ 8
#define __SIZEOF_FLOAT__ 4
#define __SIZEOF_DOUBLE__ 8
#define __SIZEOF_POINTER__ 8
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define FLT_MAX 3.40282346638528859811704183484516925e+38F
#define __FLT_MAX__ FLT_MAX
#define __FLT_EPSILON__ FLT_EPSILON
#define MAXFLOAT 3.40282347e+38F
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define FLT_MIN 1.17549435082228750796873653722224568e-38F
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7F
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_LN2 0.69314718055994530942
#define M_LOG2E 1.4426950408889634074
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_2_SQRTPI 1.12837916709551257390
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_LOG10E 0.43429448190325182765
#define M_LN10 2.30258509299404568402
#define M_PIf 3.14159265358979323846f
#define CUDART_PI_F 3.141592654f
#define CUDART_INF_F (__builtin_huge_valf())
#define HUGE_VALF (__builtin_huge_valf())
#define INFINITY (__builtin_huge_valf())
#define HUGE_VAL (__builtin_huge_val())
#define NAN (__builtin_nanf(""))
)";

}  // namespace kw
