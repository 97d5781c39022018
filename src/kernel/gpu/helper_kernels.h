#pragma once
// Our own device code, compiled like any kernel: what the worker needs to look at memory without copying it.

#include <string_view>

namespace kw {

inline constexpr std::string_view helper_kernel_names[] = {"kw_checksum", "kw_count_other", "kw_gather", "kw_spin",
                                                           "kw_draw",     "kw_spoil",       "kw_scrub"};

inline constexpr std::string_view helper_kernel_source = R"CUDA(
__device__ unsigned long long kw_mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A sum of mixed words and places: any order of additions gives the same.
extern "C" __global__ void kw_checksum(const unsigned* words, unsigned long long count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
    mine += kw_mix(words[i] + (i << 32));
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

// How many words differ from the value that a red zone was filled with.
extern "C" __global__ void kw_count_other(const unsigned* words, unsigned long long count, unsigned value,
                                          unsigned long long* sum) {
  unsigned long long mine = 0;
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
    mine += words[i] != value;
  if (mine != 0) atomicAdd(sum, mine);
}

// Chunks of bytes, one block each.
extern "C" __global__ void kw_gather(const unsigned char* from, const unsigned long long* offsets,
                                     unsigned long long bytes, unsigned chunk_bytes, unsigned char* to) {
  const unsigned long long offset = offsets[blockIdx.x];
  for (unsigned i = threadIdx.x; i < chunk_bytes; i += blockDim.x)
    if (offset + i < bytes) to[static_cast<unsigned long long>(blockIdx.x) * chunk_bytes + i] = from[offset + i];
}

// Keeps the multiprocessors busy for a fixed number of instructions, to bring the clocks up.
extern "C" __global__ void kw_spin(int rounds, float* out) {
  float x = threadIdx.x;
  for (int i = 0; i < rounds; ++i) x = x * 0.999f + 0.5f;
  if (x == 0.123f) *out = x;
}

// drawn_inputs.cpp, on the device. kind: 0 words, 1 floats, 2 doubles.
extern "C" __global__ void kw_draw(const unsigned char* table, unsigned long long mask, unsigned long long key, int kind,
                                   int element_bytes, int has_range, double low, double high,
                                   unsigned long long line_elements, unsigned long long parts,
                                   unsigned long long steady_parts, unsigned long long count, unsigned char* to) {
  const float float_low = static_cast<float>(low), float_high = static_cast<float>(high);
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
    unsigned long long drawn = kw_mix(key + i * 0x9E3779B97F4A7C15ull), place = 0;
    if (line_elements != 0) {
      const unsigned long long line = kw_mix(~key + i / line_elements * 0x9E3779B97F4A7C15ull);
      const unsigned long long part = line & (parts - 1);
      if ((steady_parts >> part & 1) != 0) drawn = kw_mix(line + 0x9E3779B97F4A7C15ull);
      place = part * (mask + 1);
    }
    place += drawn & mask;
    if (kind == 1) {
      const float value = reinterpret_cast<const float*>(table)[place];
      const float changed = __uint_as_float(__float_as_uint(value) ^ static_cast<unsigned>((drawn >> 20) & 0xffffull));
      const bool stays = !has_range || (changed >= float_low && changed <= float_high);
      reinterpret_cast<float*>(to)[i] = stays && value != 0 ? changed : value;
    } else if (kind == 2) {
      const double value = reinterpret_cast<const double*>(table)[place];
      const double changed = __longlong_as_double(__double_as_longlong(value) ^
                                                  static_cast<long long>((drawn >> 20) & 0xffffffffffull));
      const bool stays = !has_range || (changed >= low && changed <= high);
      reinterpret_cast<double*>(to)[i] = stays && value != 0 ? changed : value;
    } else if (element_bytes == 1) {
      to[i] = table[place];
    } else if (element_bytes == 2) {
      reinterpret_cast<unsigned short*>(to)[i] = reinterpret_cast<const unsigned short*>(table)[place];
    } else if (element_bytes == 4) {
      reinterpret_cast<unsigned*>(to)[i] = reinterpret_cast<const unsigned*>(table)[place];
    } else {
      reinterpret_cast<unsigned long long*>(to)[i] = reinterpret_cast<const unsigned long long*>(table)[place];
    }
  }
}

// Words of a variable that a launch has left changed become noise: an honest kernel writes them before it reads them.
extern "C" __global__ void kw_spoil(unsigned char* now, const unsigned char* initial, unsigned long long bytes,
                                    unsigned long long seed, unsigned long long* changed) {
  for (unsigned long long word = blockIdx.x * 256ull + threadIdx.x; word * 8 < bytes; word += gridDim.x * 256ull) {
    const unsigned long long begin = word * 8, end = begin + 8 < bytes ? begin + 8 : bytes;
    const unsigned long long noise = kw_mix(seed + word * 0x9E3779B97F4A7C15ull);
    bool differs = false;
    if (end - begin == 8 && reinterpret_cast<unsigned long long>(now) % 8 == 0) {
      unsigned long long* place = reinterpret_cast<unsigned long long*>(now + begin);
      differs = *place != *reinterpret_cast<const unsigned long long*>(initial + begin);
      if (differs) *place = noise;
    } else if (end - begin == 4 && reinterpret_cast<unsigned long long>(now) % 4 == 0) {
      unsigned* place = reinterpret_cast<unsigned*>(now + begin);
      differs = *place != *reinterpret_cast<const unsigned*>(initial + begin);
      if (differs) *place = static_cast<unsigned>(noise);
    } else {
      for (unsigned long long i = begin; i < end; ++i) differs |= now[i] != initial[i];
      for (unsigned long long i = begin; differs && i < end; ++i)
        now[i] = static_cast<unsigned char>(noise >> (8 * (i - begin)));
    }
    if (!differs) continue;
    atomicAdd(changed, 1ull);
  }
}

// All shared memory of the multiprocessors: a block that reads it before writing must not find an earlier launch's.
extern "C" __global__ void kw_scrub(unsigned words, unsigned value) {
  extern __shared__ unsigned kw_words[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) *const_cast<volatile unsigned*>(kw_words + i) = value;
}
)CUDA";

}  // namespace kw
