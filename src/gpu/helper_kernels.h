#pragma once
// Our own device code, compiled like any kernel: what the worker needs to look at memory without copying it.

#include <string_view>

namespace kw {

inline constexpr std::string_view helper_kernel_names[] = {"kw_checksum", "kw_count_other", "kw_gather", "kw_spin"};

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
)CUDA";

}  // namespace kw
