#pragma once
// What a kernel tries in order to be fast, seen in its tokens: the memory of a conversation ("tried before") and what a
// Generator is asked for. A tag says that the means is used, not that it helps. Macros are not expanded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

enum class Strategy : std::uint8_t {
  shared_memory,
  tiling,             // shared memory that is filled again in a loop, between barriers
  vectorised,         // float4, int2 ... loads and stores
  packed_half,        // __half2, __nv_bfloat162 arithmetic
  warp_shuffle,       // __shfl_*_sync
  warp_reduce,        // __reduce_*_sync, votes
  grid_stride,        // a loop that advances by the size of the grid
  register_blocking,  // a local array of results for each thread
  unrolled,           // #pragma unroll
  restrict_pointers,
  read_only_loads,  // __ldg, ld.global.nc
  launch_bounds,
  tensor_cores,  // wmma, mma.sync
  async_copy,    // cp.async, memcpy_async
  cooperative_groups,
  atomics,
  fast_math,  // __expf, __fdividef, rsqrtf ...
  constant_memory,
  many_kernels,  // more than one __global__ function
  templates,     // a kernel that is a template: sizes known when it is compiled
};
std::string_view to_string(Strategy strategy);
std::optional<Strategy> strategy_from_string(std::string_view text);
std::vector<Strategy> all_strategies();

// Each at most once, in the order of the enumeration. Linear in the text.
std::vector<Strategy> strategies_of(std::string_view kernel);

// Strategies that a text claims in words ("uses shared memory and float4 loads").
std::vector<Strategy> strategies_claimed(std::string_view prose);

// "shared_memory, tiling"; "none" without any.
std::string to_string(const std::vector<Strategy>& strategies);

}  // namespace kw
