#pragma once
// What device code of PyTorch's extensions uses of its headers: element types, their accumulators, a few macros. Host
// code is read and never compiled, so a tensor is but a name here.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

namespace c10 {

// IEEE half: computes as float, is rounded to nearest even.
struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  __device__ Half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(value)); }
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return value;
  }
  // __half, wherever cuda_fp16.h is included.
  template <class Other, class = typename std::enable_if<std::is_class<Other>::value && sizeof(Other) == 2>::type>
  __device__ operator Other() const {
    return *reinterpret_cast<const Other*>(this);
  }
};

// The upper half of a float.
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  __device__ BFloat16(float value) {
    const unsigned int bits = __float_as_uint(value);
    x = value != value ? static_cast<unsigned short>(0x7FC0)
                       : static_cast<unsigned short>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
  __device__ operator float() const { return __uint_as_float(static_cast<unsigned int>(x) << 16); }
  template <class Other, class = typename std::enable_if<std::is_class<Other>::value && sizeof(Other) == 2>::type>
  __device__ operator Other() const {
    return *reinterpret_cast<const Other*>(this);
  }
};

#define KW_TORCH_OPERATOR(type, op)                                                                                   \
  __device__ inline type operator op(const type& a, const type& b) {                                                  \
    return static_cast<float>(a) op static_cast<float>(b);                                                            \
  }                                                                                                                   \
  __device__ inline float operator op(const type& a, float b) { return static_cast<float>(a) op b; }                  \
  __device__ inline float operator op(float a, const type& b) { return a op static_cast<float>(b); }                  \
  __device__ inline type operator op(const type& a, int b) { return static_cast<float>(a) op static_cast<float>(b); } \
  __device__ inline type operator op(int a, const type& b) { return static_cast<float>(a) op static_cast<float>(b); } \
  __device__ inline type& operator op##=(type & a, const type & b) { return a = a op b; }
KW_TORCH_OPERATOR(Half, +)
KW_TORCH_OPERATOR(Half, -)
KW_TORCH_OPERATOR(Half, *)
KW_TORCH_OPERATOR(Half, /)
KW_TORCH_OPERATOR(BFloat16, +)
KW_TORCH_OPERATOR(BFloat16, -)
KW_TORCH_OPERATOR(BFloat16, *)
KW_TORCH_OPERATOR(BFloat16, /)
#undef KW_TORCH_OPERATOR
__device__ inline Half operator-(const Half& a) { return -static_cast<float>(a); }
__device__ inline BFloat16 operator-(const BFloat16& a) { return -static_cast<float>(a); }

namespace cuda {}
}  // namespace c10

namespace at {
class Tensor;
using c10::BFloat16;
using c10::Half;
namespace cuda {}
namespace native {}

// Sums of half are kept in float, sums of float as well.
template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<Half> {
  using type = float;
};
template <>
struct OpMathType<BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
template <class T, bool is_cuda>
using acc_type = typename OpMathType<T>::type;
}  // namespace at

namespace torch {
using at::BFloat16;
using at::Half;
using at::Tensor;
namespace indexing {}
namespace nn {
namespace functional {}
}  // namespace nn
}  // namespace torch

namespace pybind11 {}

template <>
struct std::numeric_limits<c10::Half> {
  static constexpr bool is_specialized = true;
  __device__ static c10::Half lowest() { return -65504.0f; }
  __device__ static c10::Half max() { return 65504.0f; }
  __device__ static c10::Half min() { return 6.103515625e-05f; }
  __device__ static c10::Half infinity() { return __int_as_float(0x7f800000); }
  __device__ static c10::Half epsilon() { return 0.0009765625f; }
};
template <>
struct std::numeric_limits<c10::BFloat16> {
  static constexpr bool is_specialized = true;
  __device__ static c10::BFloat16 lowest() { return -3.38953138925e+38f; }
  __device__ static c10::BFloat16 max() { return 3.38953138925e+38f; }
  __device__ static c10::BFloat16 min() { return 1.17549435082e-38f; }
  __device__ static c10::BFloat16 infinity() { return __int_as_float(0x7f800000); }
  __device__ static c10::BFloat16 epsilon() { return 0.0078125f; }
};
