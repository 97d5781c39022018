// What all kernels of the model share. No header is included: NVRTC then needs none on the machine, and is fast.
// Storage is bf16 or float; arithmetic is float.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define INFINITY_F __int_as_float(0x7f800000)

struct bf16 {
  u16 bits;
};

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(bf16 value) { return __uint_as_float(static_cast<u32>(value.bits) << 16); }
template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline bf16 from_float<bf16>(float value) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}

// 16 bytes of T at a time.
template <class T>
struct Pack;
template <>
struct Pack<float> {
  static constexpr int size = 4;
  static __device__ void unpack(const uint4& raw, float (&values)[4]) {
    values[0] = __uint_as_float(raw.x), values[1] = __uint_as_float(raw.y);
    values[2] = __uint_as_float(raw.z), values[3] = __uint_as_float(raw.w);
  }
  static __device__ void load(const float* from, float (&values)[4]) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
  }
  static __device__ void store(float* to, const float (&values)[4]) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  }
};
__device__ inline u32 pair_of(float low, float high) {
  return static_cast<u32>(from_float<bf16>(low).bits) | (static_cast<u32>(from_float<bf16>(high).bits) << 16);
}
__device__ inline float low_of(u32 pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }
template <>
struct Pack<bf16> {
  static constexpr int size = 8;
  static __device__ void unpack(const uint4& raw, float (&values)[8]) {
    values[0] = low_of(raw.x), values[1] = high_of(raw.x), values[2] = low_of(raw.y), values[3] = high_of(raw.y);
    values[4] = low_of(raw.z), values[5] = high_of(raw.z), values[6] = low_of(raw.w), values[7] = high_of(raw.w);
  }
  static __device__ void load(const bf16* from, float (&values)[8]) {
    unpack(*reinterpret_cast<const uint4*>(from), values);
  }
  static __device__ void store(bf16* to, const float (&values)[8]) {
    *reinterpret_cast<uint4*>(to) = make_uint4(pair_of(values[0], values[1]), pair_of(values[2], values[3]),
                                               pair_of(values[4], values[5]), pair_of(values[6], values[7]));
  }
};

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// Where a kernel was launched to start before the one ahead of it has ended (see KernelModule), it may touch what that
// one reads or writes only after this; the next one may start as soon as every block is here. Elsewhere this does
// nothing.
__device__ inline void after_previous() {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// A load that stays where it is written.
__device__ inline uint4 load_now(const void* from) {
  uint4 raw;
  asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(raw.x), "=r"(raw.y), "=r"(raw.z), "=r"(raw.w)
               : "l"(from));
  return raw;
}

// The sum over a block of whole warps, for every thread; `scratch` has 32 floats.
__device__ inline float block_sum(float value, float* scratch) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = 0;
  for (int i = 0; i < warps; ++i) value += scratch[i];
  return value;
}

// Defines NAME_bf16 and NAME_f32.
#define FOR_BOTH_TYPES(name, parameters_bf16, parameters_f32, ...) \
  extern "C" __global__ void name##_bf16 parameters_bf16 { name<bf16> __VA_ARGS__; } \
  extern "C" __global__ void name##_f32 parameters_f32 { name<float> __VA_ARGS__; }
