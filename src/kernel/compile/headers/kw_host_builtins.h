#pragma once
// Functions that g++ has built in and nvcc therefore knows in device code.
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000u)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ull)
#define __builtin_huge_valf() __builtin_inff()
#define __builtin_huge_val() __builtin_inf()
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fffffffu)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7fffffffffffffffull)
#define __builtin_offsetof(type, member) ((size_t) & reinterpret_cast<const volatile char&>(((type*)0)->member))
#define __builtin_clz(x) __clz(static_cast<int>(x))
#define __builtin_clzll(x) __clzll(static_cast<long long>(x))
#define __builtin_popcount(x) __popc(x)
#define __builtin_popcountll(x) __popcll(x)
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_abs abs
#define __builtin_fabsf fabsf
#define __builtin_fabs fabs
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
#define __builtin_expf expf
#define __builtin_exp exp
#define __builtin_logf logf
#define __builtin_log log
#define __builtin_powf powf
#define __builtin_pow pow
#define __builtin_tanhf tanhf
#define __builtin_tanh tanh
#define __builtin_sinf sinf
#define __builtin_cosf cosf
#define __builtin_fmaf fmaf
#define __builtin_fma fma
#define __builtin_fmaxf fmaxf
#define __builtin_fminf fminf
#define __builtin_fmax fmax
#define __builtin_fmin fmin
#define __builtin_floorf floorf
#define __builtin_ceilf ceilf
#define __builtin_roundf roundf
#define __builtin_truncf truncf
#define __builtin_exp2f exp2f
#define __builtin_log2f log2f
#define __builtin_erff erff
#define __builtin_rintf rintf
#define __builtin_copysignf copysignf
#define __builtin_ffs __ffs
#define __builtin_ffsll __ffsll
#define __builtin_isnan isnan
#define __builtin_isinf isinf
#define __builtin_isfinite isfinite
#define __builtin_signbit signbit
#define __builtin_labs labs
#define __builtin_llabs llabs
#define __builtin_printf printf
